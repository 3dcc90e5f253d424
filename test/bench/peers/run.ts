// Alternates the Go plugin and network-overhead. Arguments: --scheduler-plugins DIR (a checkout, not
// modified; without it only ours), --kubernetes VERSION (default: the newest known of the checkout's minor
// version), --nodes 1000,5000,10000.
import { ascending, nearestRank, reasonOf } from "@isochrone/primitives";
import { ColumnPool, createNetworkOverhead } from "@isochrone/placement";
import { CHECKSUMS } from "@isochrone/placement/testing";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { kubernetesVersion } from "../../harness/control-plane/versions.ts";
import { fixtureOf } from "../placement/overhead-fixture.ts";
import { generateModule } from "./network-overhead-go.ts";

const TURNS = 3;
const OUR_ROUNDS = 300;
/** Whole scheduling cycles of the plugin take tenths of a second. */
const GO_ROUNDS = 5;
const PACKAGE = "./pkg/networkaware/networkoverhead/";

interface Sums {
  readonly nodes: number;
  readonly pass: number;
  readonly rawSum: number;
  readonly scoreSum: number;
}

interface Measured extends Sums {
  readonly medianMs: number;
}

const { values } = parseArgs({
  options: {
    "scheduler-plugins": { type: "string" },
    kubernetes: { type: "string" },
    nodes: { type: "string", default: CHECKSUMS.map(({ nodes }) => nodes).join(",") },
  },
});
const sizes = values.nodes.split(",").map(Number);
if (!sizes.every((size) => Number.isInteger(size) && size > 0))
  throw new Error(`--nodes must be whole numbers above 0 with commas, got ${values.nodes}`);
const checkout = values["scheduler-plugins"];

try {
  await compare();
} catch (error) {
  console.error(reasonOf(error));
  process.exitCode = 1;
}

async function compare(): Promise<void> {
  const peer = checkout === undefined ? null : await buildPeer(resolve(checkout), values.kubernetes);
  try {
    const ours: Measured[][] = [];
    const theirs: Measured[][] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      if (peer !== null) theirs.push(await runPeer(peer.program));
      ours.push(sizes.map(measureOurs));
    }
    printResults(ours, theirs);
  } finally {
    await peer?.remove();
  }
}

interface Peer {
  readonly program: string;
  readonly remove: () => Promise<void>;
}

async function buildPeer(folder: string, wanted: string | undefined): Promise<Peer> {
  const target = await mkdtemp(join(tmpdir(), "isochrone-peer-"));
  const remove = (): Promise<void> => rm(target, { recursive: true, force: true });
  try {
    const version = wanted ?? (await versionFor(folder));
    console.error(
      `building the plugin of ${folder} against Kubernetes ${version}; the first time takes minutes`,
    );
    await generateModule(folder, target, version);
    const program = join(target, "peer.test");
    await run("go", ["test", "-c", "-o", program, PACKAGE], {
      cwd: target,
      env: {
        ...process.env,
        GOFLAGS: "-mod=mod -buildvcs=false",
        GOTOOLCHAIN: "local",
        GOWORK: "off",
        CGO_ENABLED: "0",
      },
    });
    return { program, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Not all patch versions are available. Those of one minor version have the same scheduler. */
async function versionFor(folder: string): Promise<string> {
  const goMod = await readFile(join(folder, "go.mod"), "utf8").catch(() => "");
  const [, own, minor] = /k8s\.io\/kubernetes v((\d+\.\d+)\.\d+)/.exec(goMod) ?? [];
  if (own === undefined || minor === undefined)
    throw new Error(
      `--scheduler-plugins must be a checkout of kubernetes-sigs/scheduler-plugins, got ${folder}: no go.mod there asks for k8s.io/kubernetes`,
    );
  try {
    return kubernetesVersion(minor);
  } catch {
    return own;
  }
}

async function runPeer(program: string): Promise<Measured[]> {
  const env = { ...process.env, ISOCHRONE_ROUNDS: String(GO_ROUNDS), ISOCHRONE_NODES: sizes.join(",") };
  const output = await run(program, ["-test.run", "TestIsochrone", "-test.timeout", "30m"], { env });
  const found = [...output.matchAll(/^ISOCHRONE (.*)$/gm)].map(([, json]) => JSON.parse(json!) as Measured);
  if (found.length !== sizes.length)
    throw new Error(`the plugin measured ${found.length} of ${sizes.length} sizes`);
  for (const measured of found) check("the plugin", measured);
  return found;
}

/** Cold: without caches for the pod, its workload or their placement. */
function measureOurs(nodes: number): Measured {
  const { problem, freshWorkflow } = fixtureOf(nodes);
  const strategy = createNetworkOverhead("upstream");
  const pool = new ColumnPool();
  const times: number[] = [];
  let sums: Sums = { nodes, pass: 0, rawSum: 0, scoreSum: 0 };
  for (let round = 0; round < 2 * OUR_ROUNDS; round++) {
    const cold = { ...problem, workflow: { graph: freshWorkflow(), ageSeconds: 0 } };
    const startMs = performance.now();
    const rejected = strategy.filter!(cold);
    const { raw, score } = strategy.score(cold, pool);
    const elapsedMs = performance.now() - startMs;
    if (round >= OUR_ROUNDS) times.push(elapsedMs);
    const sum = (column: Float64Array): number => column.reduce((total, value) => total + value, 0);
    sums = { nodes, pass: nodes - rejected.size, rawSum: sum(raw), scoreSum: sum(score) };
  }
  check("network-overhead", sums);
  return { ...sums, medianMs: nearestRank(ascending(times), 0.5)! };
}

function check(who: string, { nodes, pass, rawSum, scoreSum }: Sums): void {
  const wanted = CHECKSUMS.find((sums) => sums.nodes === nodes);
  if (wanted === undefined) return;
  if (pass !== wanted.pass || rawSum !== wanted.rawSum || scoreSum !== wanted.scoreSum) {
    const found = JSON.stringify({ pass, rawSum, scoreSum });
    throw new Error(`${nodes} nodes by ${who} must give ${JSON.stringify(wanted)}, got ${found}`);
  }
}

function printResults(ours: readonly Measured[][], theirs: readonly Measured[][]): void {
  const middle = (of: readonly Measured[][], index: number): number =>
    nearestRank(ascending(of.map((turn) => turn[index]!.medianMs)), 0.5)!;
  console.log("one pod, 50 placed neighbours; filter, score and normalise of all nodes, ms");
  for (const [index, nodes] of sizes.entries()) {
    const own = middle(ours, index);
    const line = `${String(nodes).padStart(7)} nodes  network-overhead upstream ${own.toFixed(3).padStart(8)}`;
    if (theirs.length === 0) console.log(line);
    else {
      const peer = middle(theirs, index);
      console.log(
        `${line}  Go plugin ${peer.toFixed(1).padStart(7)}  ${(peer / own).toFixed(0).padStart(5)} x`,
      );
    }
  }
  if (theirs.length === 0) console.log("(the Go side runs with --scheduler-plugins DIR)");
}

function run(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env: NodeJS.ProcessEnv },
): Promise<string> {
  const { promise, resolve: done, reject } = Promise.withResolvers<string>();
  const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4_000)));
  child.on("error", (cause) => reject(new Error(`${program} can't be run: ${cause.message}`, { cause })));
  child.on("close", (code) => {
    if (code === 0) done(output);
    else
      reject(new Error(`${program} ${args.join(" ")} ended with ${code}:\n${errors}${output.slice(-2_000)}`));
  });
  return promise;
}
