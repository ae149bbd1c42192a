/* Asks an exported model with no Python in the process.
 *
 * Lines in, lines out; or, for programs, frames, which may hold any bytes:
 *
 *   request   count, then for each example its texts
 *   answer    0, count, then a text for each example; or 1 and a message
 *   text      its size in bytes, then these
 *
 * All numbers are of four bytes, the lowest first.
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model.h"

static const char kHelp[] =
    "usage: ask [options] MODEL\n"
    "\n"
    "Answers each line of standard input with one line, through TensorFlow's\n"
    "C runtime. MODEL is the folder of one version of an exported model, such\n"
    "as savedmodels/europarl_ps/1. Where a model takes several texts, a line\n"
    "has them in the order of their names, a tabulator between them.\n"
    "\n"
    "  --signature NAME   which signature to ask (default: serving_default)\n"
    "  --output NAME      which output to print (default: the text, the label\n"
    "                     or the next words, whichever there is)\n"
    "  --library FILE     operations to load first, such as TensorFlow Text's\n"
    "                     _sentencepiece_tokenizer.so; may be repeated\n"
    "  --batch_size N     most lines asked at once (default: 32)\n"
    "  --threads N        of the runtime (default: as many as there are cores)\n"
    "  --frames           binary requests and answers, see ask.c\n"
    "  --timing FILE      writes a line for each request: its number of\n"
    "                     examples, microseconds, and the memory of the\n"
    "                     process after it, KiB\n";

static FILE* timing = NULL;

/* TensorFlow's libraries write to standard error as they start, which is
 * before `main`, and as they work. TF_CPP_MIN_LOG_LEVEL=0 shows it. */
static int user_stderr = 2;

static void HideStderr(int argc, char** argv, char** environment) {
  (void)argc, (void)argv;
  /* What is closed fails, and is no file that is opened later. */
  for (int number = 0; number < 3; number++) {
    if (fcntl(number, F_GETFD) < 0) {
      open("/dev/null", number ? O_RDONLY : O_WRONLY);
    }
  }
  for (; *environment; environment++) {
    if (!strcmp(*environment, "TF_CPP_MIN_LOG_LEVEL=0")) return;
  }
  const int nowhere = open("/dev/null", O_WRONLY);
  user_stderr = dup(2);
  dup2(nowhere, 2);
  close(nowhere);
}

__attribute__((section(".preinit_array"), used)) static void (*hide_stderr)(
    int, char**, char**) = HideStderr;

static int Fail(const char* about, const char* what) {
  dprintf(user_stderr, "ask: %s%s%s\n", about, *what ? ": " : "", what);
  return 2;
}

/* Both of these give the exit status after a command's own. */
static int CheckInput(int status) {
  if (status || !ferror(stdin)) return status;
  return Fail("standard input", strerror(errno));
}

static int CheckOutput(int status) {
  if (!fflush(stdout) && !ferror(stdout)) return status;
  return status ? status : Fail("standard output", strerror(errno));
}

static long ResidentKiB(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file) {
    if (fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
    fclose(file);
  }
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static const char* TimedAsk(Model* model, const Text* texts, int batch,
                            Text* answers) {
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  const char* wrong = Ask(model, texts, batch, answers);
  clock_gettime(CLOCK_MONOTONIC, &to);
  if (timing) {
    const double seconds =
        (to.tv_sec - from.tv_sec) + 1e-9 * (to.tv_nsec - from.tv_nsec);
    fprintf(timing, "%d %.1f %ld\n", batch, 1e6 * seconds, ResidentKiB());
  }
  return wrong;
}

/* Lines. */

/* Cuts a line at its tabulators. Returns whether there are `count` texts. */
static int Cut(char* line, size_t size, Text* texts, int count) {
  for (int i = 0; i < count; i++) {
    char* tab = i + 1 < count ? memchr(line, '\t', size) : NULL;
    if (i + 1 < count && !tab) return 0;
    const size_t length = tab ? (size_t)(tab - line) : size;
    texts[i] = (Text){malloc(length + 1), length};
    if (!texts[i].bytes) abort();
    memcpy(texts[i].bytes, line, length);
    if (tab) size -= length + 1, line = tab + 1;
  }
  return 1;
}

static int AnswerLines(Model* model, int batch_size) {
  const int count = model->signature.num_inputs;
  Text* texts = calloc((size_t)batch_size * count, sizeof(Text));
  Text* answers = calloc(batch_size, sizeof(Text));
  char* line = NULL;
  size_t capacity = 0;
  ssize_t length = 0;
  long number = 0;
  int status = 0;
  while (!status && length >= 0) {
    int batch = 0;
    while (batch < batch_size &&
           (length = getline(&line, &capacity, stdin)) >= 0) {
      number++;
      while (length && strchr("\r\n", line[length - 1]) && line[length - 1]) {
        length--;
      }
      if (!Cut(line, length, texts + batch * count, count)) {
        char about[64];
        snprintf(about, sizeof about, "standard input, line %ld", number);
        status = Fail(about, "expected a tabulator between the texts");
        break;
      }
      batch++;
    }
    if (batch && !status) {
      const char* wrong = TimedAsk(model, texts, batch, answers);
      if (wrong) status = Fail(wrong, "");
      for (int i = 0; i < batch && !wrong; i++) {
        /* One line, whatever was cut out of a context. */
        for (size_t j = 0; j < answers[i].size; j++) {
          if (strchr("\r\n", answers[i].bytes[j]) && answers[i].bytes[j]) {
            answers[i].bytes[j] = ' ';
          }
        }
        fwrite(answers[i].bytes, 1, answers[i].size, stdout);
        putchar('\n');
        free(answers[i].bytes);
      }
      status = CheckOutput(status);
    }
    for (int i = 0; i < batch * count; i++) free(texts[i].bytes);
  }
  free(line);
  free(texts);
  free(answers);
  return CheckInput(status);
}

/* Frames. */

/* No memory is taken for texts that a number only announces. */
enum { kMostExamples = 1 << 20, kPart = 1 << 20 };

/* Returns how many of its four bytes there were. */
static size_t ReadNumber(uint32_t* number) {
  uint8_t bytes[4] = {0};
  const size_t read = fread(bytes, 1, 4, stdin);
  *number = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)bytes[3] << 24;
  return read;
}

static void WriteNumber(uint32_t number) {
  for (int i = 0; i < 4; i++) putchar(number >> 8 * i & 255);
}

static int ReadText(Text* text) {
  uint32_t size;
  if (ReadNumber(&size) < 4) return 0;
  *text = (Text){NULL, 0};
  do {
    const size_t left = size - text->size;
    const size_t part = left < kPart ? left : kPart;
    text->bytes = realloc(text->bytes, text->size + part + 1);
    if (!text->bytes) abort();
    if (fread(text->bytes + text->size, 1, part, stdin) != part) return 0;
    text->size += part;
  } while (text->size < size);
  return 1;
}

static void WriteText(const char* bytes, size_t size) {
  WriteNumber((uint32_t)size);
  fwrite(bytes, 1, size, stdout);
}

/* Reads the texts of a request. Returns how many are complete. */
static size_t ReadTexts(Text** texts, size_t count) {
  size_t room = 0, i = 0;
  for (*texts = NULL; i < count; i++) {
    if (i == room) {
      room = room ? 2 * room : 64;
      *texts = realloc(*texts, room * sizeof(Text));
      if (!*texts) abort();
    }
    (*texts)[i] = (Text){NULL, 0};
    if (!ReadText(&(*texts)[i])) {
      free((*texts)[i].bytes);
      break;
    }
  }
  return i;
}

static int AnswerFrames(Model* model) {
  static const char cut_off[] = "ends within a frame";
  uint32_t batch;
  size_t read;
  int status = 0;
  while ((read = ReadNumber(&batch)) == 4) {
    if (batch > kMostExamples) {
      return Fail("standard input", "a frame of more than 1048576 examples");
    }
    const size_t count = (size_t)batch * model->signature.num_inputs;
    Text* texts;
    const size_t complete = ReadTexts(&texts, count);
    if (complete < count) {
      status = CheckInput(0);
      if (!status) status = Fail("standard input", cut_off);
    } else {
      Text* answers = calloc((size_t)batch + 1, sizeof(Text));
      if (!answers) abort();
      const char* wrong = TimedAsk(model, texts, (int)batch, answers);
      WriteNumber(wrong != NULL);
      if (wrong) {
        WriteText(wrong, strlen(wrong));
      } else {
        WriteNumber(batch);
        for (uint32_t i = 0; i < batch; i++) {
          WriteText(answers[i].bytes, answers[i].size);
        }
      }
      status = CheckOutput(status);
      for (uint32_t i = 0; i < batch; i++) free(answers[i].bytes);
      free(answers);
    }
    for (size_t i = 0; i < complete; i++) free(texts[i].bytes);
    free(texts);
    if (status) return status;
  }
  status = CheckInput(0);
  return read && !status ? Fail("standard input", cut_off) : status;
}

static int Number(const char* text) {
  char* end;
  const long number = strtol(text, &end, 10);
  return *text && !*end && number > 0 && number < 1 << 20 ? (int)number : 0;
}

int main(int argc, char** argv) {
  enum { kSignature = 1, kOutput, kLibrary, kBatchSize, kThreads, kFrames };
  enum { kTiming = kFrames + 1, kHelpFlag };
  static const struct option options[] = {
      {"signature", required_argument, NULL, kSignature},
      {"output", required_argument, NULL, kOutput},
      {"library", required_argument, NULL, kLibrary},
      {"batch_size", required_argument, NULL, kBatchSize},
      {"threads", required_argument, NULL, kThreads},
      {"frames", no_argument, NULL, kFrames},
      {"timing", required_argument, NULL, kTiming},
      {"help", no_argument, NULL, kHelpFlag},
      {NULL, 0, NULL, 0}};
  const char *signature = "serving_default", *output = NULL;
  const char* libraries[16];
  int num_libraries = 0, batch_size = 32, threads = 0, frames = 0, option;
  opterr = 0;
  while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
    switch (option) {
      case kSignature:
        signature = optarg;
        break;
      case kOutput:
        output = optarg;
        break;
      case kLibrary:
        if (num_libraries == 16) return Fail("--library", "at most 16");
        libraries[num_libraries++] = optarg;
        break;
      case kBatchSize:
        if (!(batch_size = Number(optarg))) {
          return Fail("--batch_size", "must be a positive number");
        }
        break;
      case kThreads:
        if (!(threads = Number(optarg))) {
          return Fail("--threads", "must be a positive number");
        }
        break;
      case kFrames:
        frames = 1;
        break;
      case kTiming:
        if (!(timing = fopen(optarg, "w"))) return Fail(optarg, strerror(errno));
        break;
      case kHelpFlag:
        fputs(kHelp, stdout);
        return CheckOutput(0);
      default:
        return Fail(argv[optind - 1], "no such option, or no value for it");
    }
  }
  if (optind + 1 != argc) {
    return Fail("expected one folder of a model", "see --help");
  }
  Model model;
  const char* wrong = LoadModel(&model, argv[optind], libraries, num_libraries,
                                threads, signature, output);
  if (wrong) return Fail(wrong, "");
  int status = frames ? AnswerFrames(&model) : AnswerLines(&model, batch_size);
  CloseModel(&model);
  if (timing && (ferror(timing) | fclose(timing)) && !status) {
    status = Fail("--timing", strerror(errno));
  }
  return status;
}
