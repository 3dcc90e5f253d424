import fs from "node:fs";
const s = (l) => {
  globalThis.gc();
  const t = fs.readFileSync("/proc/self/status", "utf8");
  const m = process.memoryUsage();
  console.error(
    l,
    "anon",
    /RssAnon:\s+(\d+)/.exec(t)[1],
    "heap",
    (m.heapUsed / 1e6).toFixed(1),
    "rss",
    (m.rss / 1e6).toFixed(0),
  );
};
s("start");
const t = performance.now();
for (const m of process.argv.slice(2)) {
  await import(m);
  s(m);
}
console.log(performance.now() - t);
