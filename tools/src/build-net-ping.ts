// Builds the native part of net-ping (raw-socket), the last fallback for ICMP and the accuracy reference.
// Install scripts are off so that installing needs no compiler; this is the explicit way. The result is
// cached per user, versions and platform. Exit code 0: net-ping can be loaded; 1: it cannot, with the reason.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

const root = join(import.meta.dirname, "../..");
const addon = join(root, "node_modules/raw-socket");
const built = join(addon, "build/Release/raw.node");

/** Returns null on success, else the reason. */
function build(): string | null {
  if (isLoadable()) return null;
  if (!existsSync(join(addon, "package.json"))) return "raw-socket isn't installed (it is optional)";
  const cached = cachedFile();
  if (existsSync(cached)) {
    copy(cached, built);
    if (isLoadable()) return null;
  }
  const headers = nodeHome();
  if (headers === null) return "the headers of this Node aren't there (include/node/node.h beside bin/)";
  const gyp = nodeGyp();
  if (gyp === null) return "node-gyp isn't there (npm brings it)";
  const { status, stdout, stderr, error } = spawnSync(
    process.execPath,
    [gyp, "rebuild", `--nodedir=${headers}`],
    { cwd: addon, encoding: "utf8", timeout: 300_000, env: withoutNpm() },
  );
  if (status !== 0 || !existsSync(built)) {
    const output = `${stdout ?? ""}${stderr ?? ""}`.trim().split("\n").slice(-5).join("\n");
    return `node-gyp failed (a C++ compiler, make and Python are needed): ${error?.message ?? output}`;
  }
  if (!isLoadable()) return "what node-gyp built can't be loaded by this Node";
  copy(built, cached);
  return null;
}

function isLoadable(): boolean {
  if (!existsSync(built)) return false;
  return spawnSync(process.execPath, ["-e", `require(${JSON.stringify(built)})`]).status === 0;
}

/** npm's settings override node-gyp's arguments: npm's `nodedir` is another Node's. */
function withoutNpm(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith("npm_config_")),
  );
}

function cachedFile(): string {
  const { version } = JSON.parse(readFileSync(join(addon, "package.json"), "utf8")) as { version: string };
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const key = `raw-socket-${version}-node-${process.versions.node}-${process.platform}-${process.arch}`;
  return join(cache, "isochrone", key, "raw.node");
}

function nodeHome(): string | null {
  const home = join(dirname(process.execPath), "..");
  return existsSync(join(home, "include/node/node.h")) ? home : null;
}

function nodeGyp(): string | null {
  const folders = (process.env["PATH"] ?? "").split(":").map((folder) => join(folder, "../lib/node_modules"));
  const places = [...folders, "/usr/share/nodejs"].flatMap((folder) => [
    join(folder, "npm/node_modules/node-gyp/bin/node-gyp.js"),
    join(folder, "node-gyp/bin/node-gyp.js"),
  ]);
  return places.find((place) => existsSync(place)) ?? null;
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}

const reason = build();
if (reason !== null) {
  console.error(`net-ping can't be built: ${reason}`);
  process.exitCode = 1;
} else console.log("net-ping is ready");
