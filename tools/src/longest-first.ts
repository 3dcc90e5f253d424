// Orders test files longest first over all projects, so that no worker ends with a long one. Durations are in
// the user's cache; vitest's own are lost with a fresh clone.
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { reasonOf } from "@isochrone/primitives";

type Durations = Readonly<Record<string, number>>;

const FILE = join(
  process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"),
  "isochrone",
  "test-durations.json",
);
/** Initial estimates for waiting-dominated files, whose size says little. */
const MOSTLY_WAITING: Durations = {
  "test/e2e/story.paired.test.ts": 270,
  "test/integration/kafka-delivery.test.ts": 200,
  "test/e2e/paper-descheduler.paired.test.ts": 190,
  "test/integration/rbac.test.ts": 170,
  "test/integration/helm-switching-off.paired.test.ts": 120,
  "test/e2e/kubeconfig.test.ts": 120,
  "experiments/src/testbed/lab/testbed.paired.test.ts": 100,
  "test/integration/simulated-cluster.test.ts": 100,
  "test/e2e/savings.paired.test.ts": 80,
  "test/integration/descheduler-webhook.test.ts": 75,
  "test/integration/kafka-replicas.test.ts": 75,
  "test/integration/idle-replicas.paired.test.ts": 60,
  "test/integration/stream-kills.paired.test.ts": 60,
  "test/e2e/hot-site.paired.test.ts": 60,
  "test/integration/probing-outage.paired.test.ts": 55,
};
const BYTES_PER_SECOND = 500;

export default class LongestFirst extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    const known = { ...MOSTLY_WAITING, ...rememberedDurations() };
    const seconds = new Map(
      specs.map((spec) => [
        spec,
        known[nameOf(spec.moduleId)] ?? statSync(spec.moduleId).size / BYTES_PER_SECOND,
      ]),
    );
    return specs.toSorted((a, b) => seconds.get(b)! - seconds.get(a)!);
  }
}

/** Keeps other files' durations. Best effort: failures only affect the order. */
export function rememberDurations(durations: Durations): void {
  try {
    mkdirSync(dirname(FILE), { recursive: true });
    const partial = `${FILE}.${process.pid}`;
    writeFileSync(partial, JSON.stringify({ ...rememberedDurations(), ...durations }, null, 1));
    renameSync(partial, FILE);
  } catch (error) {
    console.warn(`durations of test files are not kept: ${reasonOf(error)}`);
  }
}

function rememberedDurations(): Durations {
  try {
    const values = Object.entries(JSON.parse(readFileSync(FILE, "utf8")) as Record<string, unknown>);
    return Object.fromEntries(values.filter((entry): entry is [string, number] => Number.isFinite(entry[1])));
  } catch {
    return {};
  }
}

function nameOf(moduleId: string): string {
  return relative(process.cwd(), moduleId);
}
