// `npm run soak -- quiet`: the demo without faults for hours, or in emulated time. Nothing may move.
import { parseArgs } from "node:util";
import { auditDemo } from "../harness/audit/audit-demo.ts";
import { BUSY, QUIET } from "../harness/model/noise.ts";
import { quietRun } from "../harness/model/quiet.ts";
import { BusyProcesses } from "./busy.ts";
import { numberOption } from "./numbers.ts";
import { endOnSignals } from "./signals.ts";

const USAGE =
  "npm run soak -- quiet [--minutes N (120)] [--seed N (1)] [--busy processes (0)] | --model [--seeds N (20)] [--minutes N (60)]";
const START_MS = 1_800_000;

export async function runQuiet(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      model: { type: "boolean", default: false },
      minutes: { type: "string" },
      seeds: { type: "string", default: "20" },
      seed: { type: "string", default: "1" },
      busy: { type: "string", default: "0" },
    },
  });
  const minutes = numberOption(
    "--minutes",
    values.minutes ?? (values.model ? "60" : "120"),
    1,
    24 * 60,
    USAGE,
  );
  const seed = numberOption("--seed", values.seed, 0, 2 ** 31, USAGE);
  const seeds = numberOption("--seeds", values.seeds, 1, 1_000, USAGE);
  const busy = numberOption("--busy", values.busy, 0, 100, USAGE);
  return values.model ? inModel(seed, seeds, minutes) : inDemo(seed, minutes, busy);
}

/** Every second seed runs on a busy machine. */
async function inModel(first: number, seeds: number, minutes: number): Promise<boolean> {
  const signal = endOnSignals();
  let clean = 0;
  for (let seed = first; seed < first + seeds && !signal.aborted; seed++) {
    const machine = (seed - first) % 2 === 0 ? QUIET : BUSY;
    const { replaced, withdrawn, worse } = await quietRun({ seed, minutes, machine });
    const name = machine === QUIET ? "quiet" : "busy";
    console.log(
      `seed ${seed}, ${name} machine, ${minutes} min: ${replaced.length} pods moved, ${withdrawn.length} proposals withdrawn, ${worse.length} proposals worse than today`,
    );
    for (const text of [...replaced, ...withdrawn, ...worse].slice(0, 10)) console.log(`  ${text}`);
    if (replaced.length + withdrawn.length + worse.length === 0) clean++;
  }
  console.log(`${clean} of ${seeds} seeds without a move or a withdrawn proposal`);
  return clean === seeds;
}

async function inDemo(seed: number, minutes: number, busy: number): Promise<boolean> {
  const signal = endOnSignals();
  const durationMs = minutes * 60_000;
  const processes = new BusyProcesses(busy, durationMs + START_MS);
  try {
    const result = await auditDemo({
      seed,
      durationMs,
      faults: 0,
      log: (text) => console.log(text),
      signal,
    });
    const { findings, movedPods, replacedInPlace } = result;
    console.log(
      `${minutes} min beside ${busy} busy processes: ${movedPods} pods moved, ${replacedInPlace} replaced where they were, ${findings.length} false statements`,
    );
    return movedPods + replacedInPlace + findings.length === 0;
  } finally {
    processes.stop();
  }
}
