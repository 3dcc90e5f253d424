// `npm run soak -- faults`: injects and heals one network fault at a time, real or emulated.
import { seededRandom } from "@isochrone/runtime";
import { parseArgs } from "node:util";
import { demoFaultRun } from "../harness/audit/demo-fault-run.ts";
import { faultRun, MODEL_FAULTS, type ModelFault } from "../harness/model/fault-run.ts";
import { BUSY, QUIET } from "../harness/model/noise.ts";
import { numberOption } from "./numbers.ts";
import { endOnSignals } from "./signals.ts";

const USAGE = "npm run soak -- faults [--runs N (40)] [--seed N (1)] [--model]";
/** Faults per cluster. A dead node stays dead, so it comes last. */
const FAULTS_PER_CLUSTER = 4;

export async function runFaults(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runs: { type: "string", default: "40" },
      seed: { type: "string", default: "1" },
      model: { type: "boolean", default: false },
    },
  });
  const runs = numberOption("--runs", values.runs, 1, 1_000, USAGE);
  const first = numberOption("--seed", values.seed, 0, 2 ** 31, USAGE);
  const signal = endOnSignals();
  let clean = 0;
  let costly = 0;
  let done = 0;
  for (let seed = first; done < runs && !signal.aborted; seed++) {
    const faults = faultsOf(seed, Math.min(FAULTS_PER_CLUSTER, runs - done));
    const machine = seed % 2 === 0 ? BUSY : QUIET;
    const { reports, failedPerMove, failedPerRolled } = values.model
      ? await faultRun({ seed, machine, faults })
      : await demoFaultRun({ seed, faults, log: (text) => console.log(text), signal });
    for (const { fault, moved, mistakes, failedRequests } of reports) {
      done++;
      if (mistakes.length === 0) clean++;
      console.log(`seed ${seed}: ${fault}: ${moved} moved, ${failedRequests} requests failed`);
      for (const mistake of mistakes) console.log(`  ${mistake}`);
    }
    if (failedPerMove !== null && failedPerMove > (failedPerRolled ?? 0)) costly++;
    console.log(
      `seed ${seed}: failed requests per moved pod ${text(failedPerMove)}, per pod of a rolling update ${text(failedPerRolled)}`,
    );
  }
  console.log(
    `${clean} of ${done} runs without a mistake; in ${costly} clusters moves cost more than rolling updates`,
  );
  return clean === runs && costly === 0;
}

function faultsOf(seed: number, count: number): ModelFault[] {
  const random = seededRandom(seed);
  const links = MODEL_FAULTS.filter((kind) => kind !== "dead-node");
  return Array.from({ length: count }, (_, index) =>
    index === FAULTS_PER_CLUSTER - 1 ? "dead-node" : links[Math.floor(random.next() * links.length)]!,
  );
}

const text = (count: number | null): string => (count === null ? "unknown" : count.toFixed(2));
