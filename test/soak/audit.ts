// `npm run soak -- audit`: audits the demo under faults drawn at run time.
import { parseArgs } from "node:util";
import { auditDemo } from "../harness/audit/audit-demo.ts";
import { numberOption } from "./numbers.ts";
import { endOnSignals } from "./signals.ts";

const USAGE =
  "npm run soak -- audit [--seeds N (20)] [--first seed (1)] [--minutes after the verdict (10)] [--faults N (5)]";

/** Returns false if a statement was false. */
export async function runAudit(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: "string", default: "20" },
      first: { type: "string", default: "1" },
      minutes: { type: "string", default: "10" },
      faults: { type: "string", default: "5" },
    },
  });
  const seeds = numberOption("--seeds", values.seeds, 1, 1_000, USAGE);
  const first = numberOption("--first", values.first, 0, 2 ** 31, USAGE);
  const minutes = numberOption("--minutes", values.minutes, 1, 24 * 60, USAGE);
  const faults = numberOption("--faults", values.faults, 0, 100, USAGE);
  const signal = endOnSignals();
  let clean = 0;
  let done = 0;
  for (let seed = first; seed < first + seeds && !signal.aborted; seed++, done++) {
    console.log(`seed ${seed}`);
    const result = await auditDemo({
      seed,
      durationMs: minutes * 60_000,
      faults,
      log: (text) => console.log(text),
      signal,
    });
    const { findings, checked, movedPods, replacedInPlace } = result;
    const statements = Object.values(checked).reduce((sum, count) => sum + count, 0);
    console.log(
      `  ${findings.length} false of ${statements} statements; ${movedPods} pods moved, ${replacedInPlace} were replaced where they were`,
    );
    if (findings.length === 0 && replacedInPlace === 0) clean++;
  }
  console.log(`${clean} of ${done} seeds without a false statement`);
  return clean === seeds;
}
