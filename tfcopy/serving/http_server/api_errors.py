"""What a request is refused with, as LibreTranslate says it."""


class ApiError(Exception):
    """An answer that is no translation: `{"error": message}`.

    Args:
        status: Of HTTP.
        message: One line.
        retry_after: Seconds after which it may be asked again, if it may.
    """

    def __init__(
        self, status: int, message: str, retry_after: int | None = None
    ):
        super().__init__(status, message)
        self.status = status
        self.message = message
        self.retry_after = retry_after
