// Stands in for `docker build` and `docker run`: an image is a folder, without users and capabilities.
import { spawn, spawnSync } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

const ROOT = join(import.meta.dirname, "../..");
const LAYOUTS = process.env["LAYOUTS"]!;
const [verb, ...words] = process.argv.slice(2);
const { values, positionals } = parseArgs({
  args: words,
  allowPositionals: true,
  options: {
    target: { type: "string" },
    tag: { type: "string", short: "t" },
    rm: { type: "boolean" },
    network: { type: "string" },
    volume: { type: "string", short: "v", multiple: true },
    env: { type: "string", short: "e", multiple: true },
  },
});

if (verb === "build") build(values.target!, values.tag!);
else if (verb === "run") run(positionals[0]!);
else throw new Error(`docker ${verb} has no stand-in`);

function build(target: string, tag: string): void {
  const script = join(ROOT, "tools/src/build-image-layout.ts");
  const args = ["--disable-warning=ExperimentalWarning", script, "--component", target];
  const { status } = spawnSync(process.execPath, [...args, "--output", join(LAYOUTS, tag)], {
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
}

function run(tag: string): void {
  const image = join(LAYOUTS, tag);
  // Mounts are separate for each container, because several start at once.
  const container = join(LAYOUTS, `container-${process.pid}`);
  for (const volume of values.volume ?? []) {
    const [from, to] = volume.split(":") as [string, string];
    cpSync(from, inImage(container, to), { recursive: true });
  }
  const given = (values.env ?? []).map((word): [string, string] => {
    const [name, ...value] = word.split("=") as [string, ...string[]];
    return [name, value.length === 0 ? process.env[name]! : value.join("=")];
  });
  const [program, ...args] = entryPoint(tag.slice("isochrone-".length, tag.indexOf(":")));
  if (program !== "node") throw new Error(`the image's program must be node, got ${program}`);
  const child = spawn(
    process.execPath,
    args.map((word) => (word.startsWith("--") ? word : inImage(image, word))),
    {
      cwd: container,
      env: Object.fromEntries(given),
      stdio: "inherit",
    },
  );
  child.on("exit", (code) => (process.exitCode = code ?? 1));
}

function entryPoint(target: string): string[] {
  const stages = readFileSync(join(ROOT, "Dockerfile"), "utf8").split(/^FROM /m);
  const stage = stages.find((text) => text.split("\n", 1)[0]!.endsWith(` AS ${target}`)) ?? "";
  return JSON.parse(/^ENTRYPOINT (.*)$/m.exec(stage)![1]!) as string[];
}

function inImage(image: string, path: string): string {
  if (!path.startsWith("/app/")) throw new Error(`only /app is stood in for, got ${path}`);
  return join(image, path.slice("/app/".length));
}
