// Files of the site, which are what `tfcopy web` wrote.

/** The folder of this code, whose name contains a hash, in that of the site. */
export const [, ROOT, CODE] = import.meta.url.match(/^(.*\/)([^/]+\/)[^/]+$/);

/**
 * Returns the bytes of a file, which may be compressed.
 *
 * @param {string} name
 * @param {object} files Hashes of all files by name.
 */
export async function fetched(name, files) {
  const packed = `${name}.gzip`;
  const path = packed in files ? packed : name;
  // A cache may hold an answer of before the file was there.
  for (const cache of ["default", "reload"])
    try {
      const integrity = files[path];
      let answer = await fetch(ROOT + path, { integrity, cache });
      if (answer.ok && path === packed) {
        const unpacking = new DecompressionStream("gzip");
        answer = new Response(answer.body.pipeThrough(unpacking));
      }
      if (answer.ok) return new Uint8Array(await answer.arrayBuffer());
    } catch {
      // Without a connection, or of another hash: the same advice.
    }
  throw new Error(
    `${path} is missing, or was altered, or the connection failed. ` +
      "Reload the page; if that does not help, write the folder again with `tfcopy web`.",
  );
}
