// Keeps the files of the site, for visits without a connection. The hash in their
// names changes with their content, so a kept file is never out of date. Other
// pages and files of the origin are left alone.

/** Hashes of the files by name, which `tfcopy web` writes. */
const FILES = {};
const INDEX = ["", "index.html"];
const { scope } = self.registration;
const CACHE = `tfcopy ${scope}`;

// A worker that kept any file, in this cache, is replaced while its page is open.
self.addEventListener("install", (event) => {
  const replace = (isOld) => isOld && self.skipWaiting();
  event.waitUntil(caches.delete("tfcopy").then(replace, () => {}));
});
self.addEventListener("activate", (event) => {
  event.waitUntil(Promise.allSettled([self.clients.claim(), removeOld()]));
});
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const name = nameOf(request);
  if (request.method === "GET" && !request.headers.has("range") && isOwn(name))
    event.respondWith(answer(event, request, name));
});

function nameOf({ url }) {
  return url.startsWith(scope) ? url.slice(scope.length).split("#")[0] : null;
}

function isOwn(name) {
  return INDEX.includes(name) || Object.hasOwn(FILES, name);
}

async function answer(event, request, name) {
  const address = scope + name;
  const integrity = FILES[name];
  // Where storage is full or forbidden, nothing is kept.
  const cache = await caches.open(CACHE).catch(() => null);
  const kept = await cache?.match(address).catch(() => null);
  if (kept && integrity) return kept;
  try {
    const found = integrity
      ? await fetch(address, { integrity, cache: request.cache })
      : await fetch(request, { cache: "reload" });
    if (cache && found.status === 200)
      event.waitUntil(cache.put(address, found.clone()).catch(() => {}));
    return found;
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}

/** Removes the files of earlier sites. */
async function removeOld() {
  const cache = await caches.open(CACHE);
  const old = (await cache.keys()).filter((x) => !isOwn(nameOf(x)));
  await Promise.all(old.map((x) => cache.delete(x)));
}
