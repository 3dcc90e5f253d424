// Completes package-lock.json with optional packages of other platforms. npm omits those that its registry
// did not list, and `npm ci` then refuses the lock on such a platform. Added entries have no integrity hash:
// npm checks only name, version, os and cpu. It also removes dependencies' `engines.node`. npm compares it
// with the Node on the path and warns, but everything runs under the packaged Node 24.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const file = process.argv[2] ?? "package-lock.json";
const lock = JSON.parse(readFileSync(file, "utf8"));

/** Whether `name` resolves from the package at `path`, as Node walks up. */
function isLocked(path, name) {
  for (let from = path; ;) {
    if (lock.packages[`${from === "" ? "" : `${from}/`}node_modules/${name}`] !== undefined) return true;
    if (from === "") return false;
    const parent = from.lastIndexOf("/node_modules/");
    from = parent < 0 ? "" : from.slice(0, parent);
  }
}

/**
 * npm's lock entry of a package. Falls back to another version: os and cpu of a platform package do not
 * change.
 */
function metadata(name, version) {
  const fields = ["os", "cpu", "libc", "bin", "license"];
  for (const spec of [`${name}@${version}`, name]) {
    try {
      const output = execFileSync("npm", ["view", spec, ...fields, "--json"], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      });
      if (output.trim() !== "") return JSON.parse(output);
    } catch {}
  }
  return null;
}

const asList = (value) => (value === undefined ? undefined : [value].flat());

const missing = Object.entries(lock.packages).flatMap(([path, entry]) =>
  Object.entries(entry.optionalDependencies ?? {})
    .filter(([name]) => !isLocked(path, name))
    .map(([name, range]) => ({ name, version: range.replace(/^[~^]/, ""), dev: entry.dev })),
);
let added = 0;
for (const { name, version, dev } of missing) {
  const found = metadata(name, version);
  if (found === null) {
    console.error(`${name}@${version}: the registry has no such package; the lock stays without it`);
    continue;
  }
  const { os, cpu, libc, license, bin } = found;
  lock.packages[`node_modules/${name}`] = {
    version,
    cpu: asList(cpu),
    ...(dev ? { dev: true } : {}),
    libc: asList(libc),
    license,
    optional: true,
    os: asList(os),
    bin,
  };
  added++;
}
let silenced = 0;
for (const [path, entry] of Object.entries(lock.packages)) {
  if (path === "" || entry.engines === undefined) continue;
  delete entry.engines;
  silenced++;
}
lock.packages = Object.fromEntries(
  Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en")),
);
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} optional packages added, ${silenced} entries without engines now`);
