// `npm run soak -- NAME [options]`: prints figures and a verdict. Exit code 1 if a check fails.
import { runAudit } from "./audit.ts";
import { runEmbedded } from "./embedded.ts";
import { runCluster } from "./cluster/command.ts";
import { runDeliverySoak } from "./delivery.ts";
import { runFaults } from "./faults.ts";
import { runFigures } from "./figures.ts";
import { runFloods } from "./floods/command.ts";
import { runFuzz } from "./fuzz/command.ts";
import { runQuiet } from "./quiet.ts";

/** Each reports errors of its options itself. */
const RUNS: Readonly<Record<string, (args: readonly string[]) => Promise<boolean>>> = {
  embedded: runEmbedded,
  cluster: runCluster,
  delivery: runDeliverySoak,
  floods: runFloods,
  fuzz: runFuzz,
  quiet: runQuiet,
  faults: runFaults,
  audit: runAudit,
  figures: runFigures,
};

const [first = "embedded", ...rest] = process.argv.slice(2);
const named = Object.hasOwn(RUNS, first);
try {
  if (!named && !first.startsWith("-"))
    throw new Error(`there is no soak "${first}"; there are ${Object.keys(RUNS).join(", ")}`);
  const passed = named ? await RUNS[first]!(rest) : await runEmbedded(process.argv.slice(2));
  if (!passed) process.exitCode = 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
