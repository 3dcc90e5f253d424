// Runs a program under the Node 24 installed by npm. Plain JavaScript, since the system's Node (20 or later)
// starts it. `.bin/node` is unreliable: npm 10 does not link it if several platform packages exist.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Path of a Node that runs TypeScript: this one if new enough, else the packaged one. */
function findNode24() {
  if (Number(process.versions.node.split(".")[0]) >= 24) return process.execPath;
  const require = createRequire(import.meta.url);
  const { platform, arch } = process;
  for (const name of [`node-${platform}-${arch}`, `node-bin-${platform}-${arch}`]) {
    try {
      return join(dirname(require.resolve(`${name}/package.json`)), "bin", "node");
    } catch {}
  }
  throw new Error(
    `isochrone needs Node 24 or later and found ${process.versions.node}; no packaged Node for ${platform}-${arch} is installed. ` +
      `Run "npm install" (optional packages included) or install Node 24.`,
  );
}

/** Replaces this process as far as possible: same streams, forwarded signals, same exit code. */
export function runWithNode24(args) {
  let node;
  try {
    node = findNode24();
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
  const child = spawn(node, args, {
    stdio: "inherit",
    env: { ...process.env, PATH: `${dirname(node)}:${process.env.PATH ?? ""}` },
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`cannot run ${node}: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
}

if (process.argv[1] && import.meta.url.endsWith(process.argv[1].split("/").pop()))
  runWithNode24(process.argv.slice(2));
