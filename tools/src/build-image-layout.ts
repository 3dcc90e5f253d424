// Builds the folder of a component's image: modules as JavaScript, needed packages, and an SBOM
// (sbom.cdx.json). Used by the Dockerfile, and for running a component without a container.
//
//   node tools/src/build-image-layout.ts --component probe --output FOLDER
//     [--kafka-client platformatic|kafkajs] [--net-ping no|yes]
//
// `--net-ping yes` needs `npm run build:net-ping` before. SOURCE_DATE_EPOCH, in seconds, is the time of all
// files: equal sources and packages give an equal folder.
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { bundle } from "./image-layout/bundle.ts";
import { ASSETS, COMPONENTS, KAFKA_CLIENTS, NET_PING, UNBUNDLED } from "./image-layout/components.ts";
import { withDependencies } from "./image-layout/npm-packages.ts";
import { sbomOf } from "./image-layout/sbom.ts";
import { trace } from "./image-layout/trace.ts";
import { Layout } from "./image-layout/write.ts";

const ROOT = join(import.meta.dirname, "../..");

const { values } = parseArgs({
  options: {
    component: { type: "string" },
    output: { type: "string" },
    "kafka-client": { type: "string", default: "platformatic" },
    "net-ping": { type: "string", default: "no" },
  },
});
const component = COMPONENTS[values.component ?? ""];
const otherClients = Object.keys(KAFKA_CLIENTS).filter((name) => name !== values["kafka-client"]);
if (component === undefined)
  fail(`--component must be one of ${Object.keys(COMPONENTS).join(", ")}, got ${values.component}`);
if (values.output === undefined) fail("--output must be a folder");
if (otherClients.length === Object.keys(KAFKA_CLIENTS).length)
  fail(`--kafka-client must be one of ${otherClients.join(", ")}, got ${values["kafka-client"]}`);
if (!["no", "yes"].includes(values["net-ping"]))
  fail(`--net-ping must be no or yes, got ${values["net-ping"]}`);
const hasNetPing = values["net-ping"] === "yes";
if (hasNetPing && !existsSync(join(ROOT, "node_modules/raw-socket/build/Release/raw.node")))
  fail("--net-ping=yes needs net-ping's native part: run npm run build:net-ping");
const epochSeconds = Number(process.env["SOURCE_DATE_EPOCH"] ?? "0");
if (!Number.isSafeInteger(epochSeconds) || epochSeconds < 0)
  fail(`SOURCE_DATE_EPOCH must be seconds since 1970, got ${process.env["SOURCE_DATE_EPOCH"]}`);
mkdirSync(values.output, { recursive: true });
if (readdirSync(values.output).length > 0) fail(`--output must be empty, got ${values.output}`);

const traced = trace(ROOT, join(ROOT, component.folder, "src/main.ts"));
const without = [...component.without, ...otherClients.flatMap((name) => KAFKA_CLIENTS[name]!)];
const named = new Map(traced.packages);
const netPingModule = join(ROOT, NET_PING.module);
if (hasNetPing && traced.files.has(netPingModule)) named.set(NET_PING.package, netPingModule);
const packages = withDependencies(named, without);
const layout = new Layout(ROOT, values.output);
for (const file of ["package.json", "LICENSE"]) layout.copy(join(ROOT, file));
for (const folder of traced.workspaces) {
  const assets = (ASSETS[relative(ROOT, folder)] ?? []).map((name) => join(folder, name));
  for (const asset of assets.filter((path) => existsSync(path))) layout.copyFolder(asset);
}
if (component.isService) await addBundle();
else addModules();
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
const subject = { name: values.component!, version, builtAtMs: epochSeconds * 1000 };
layout.write("sbom.cdx.json", `${JSON.stringify(sbomOf(subject, packages), null, 2)}\n`);
layout.finish(epochSeconds * 1000);
console.log(
  `${values.component}: ${traced.files.size} modules and ${packages.length} packages in ${values.output}`,
);

async function addBundle(): Promise<void> {
  const apart = new Map([...named].filter(([name]) => UNBUNDLED.includes(name)));
  const installed = withDependencies(apart, without);
  const folders = new Set(installed.map(({ folder }) => folder));
  for (const { folder } of installed) layout.copyPackage(folder);
  for (const one of packages.filter(({ folder }) => !folders.has(folder)))
    layout.copyLicences(one.folder, join("licences", `${one.name.replace("/", "-")}-${one.version}`));
  const entry = join(ROOT, component!.folder, "src/main.ts");
  const external = [...UNBUNDLED, ...without];
  await bundle({ root: ROOT, entry, files: traced.files, external, target: values.output! });
}

function addModules(): void {
  for (const file of traced.files) layout.copyModule(file);
  for (const folder of traced.workspaces) {
    layout.copyManifest(join(folder, "package.json"));
    layout.link(nameOf(folder), folder);
  }
  for (const { folder } of packages) layout.copyPackage(folder);
}

function nameOf(folder: string): string {
  return (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { name: string }).name;
}

function fail(reason: string): never {
  console.error(`build-image-layout: ${reason}`);
  process.exit(2);
}
