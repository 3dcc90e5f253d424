import { authorizedFetch, systemClock, type Fetch } from "@isochrone/runtime/basics";
import { reasonOf } from "@isochrone/primitives";
import type { DeschedulerReport } from "@isochrone/scheduler-plugin";
import { CommandError, usageError } from "../errors.ts";
import type { Format } from "../output/format.ts";
import { show, viewOf } from "../output/show.ts";
import { table } from "../output/table.ts";

export interface DeschedulerOptions {
  readonly server: string;
  readonly tokenFile?: string;
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly namespace?: string;
  /** Refresh interval, ms; undefined: print once. */
  readonly watch?: number;
  readonly output: Format;
}

const TIMEOUT_MS = 10_000;

export async function deschedulerCommand(
  options: DeschedulerOptions,
  print: (text: string) => void,
): Promise<void> {
  const read = async () => {
    const report = await readReport(options);
    const { namespace } = options;
    return viewOf(namespace === undefined ? report : onlyOf(report, namespace), { text: reportText });
  };
  await show(read, options, print);
}

async function readReport(options: DeschedulerOptions): Promise<DeschedulerReport> {
  checkUsage(options);
  const { server, tokenFile = null, caFile = null, certFile = null, keyFile = null } = options;
  const url = `${server.replace(/\/+$/, "")}/api/v1/descheduler`;
  try {
    const fetch = authorizedFetch({ tokenFile, caFile, certFile, keyFile, clock: systemClock });
    return await reportOf(url, await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${url} can't be read: ${reasonOf(error)}`, { cause: error });
  }
}

function checkUsage({ server, caFile, certFile, keyFile }: DeschedulerOptions): void {
  if ((certFile === undefined) !== (keyFile === undefined))
    throw usageError("--cert-file and --key-file go together");
  if ((caFile ?? certFile) !== undefined && !server.startsWith("https:"))
    throw usageError(`certificates need an https address in --server, got ${server}`);
}

async function reportOf(url: string, response: Awaited<ReturnType<Fetch>>): Promise<DeschedulerReport> {
  if (response.status === 404)
    throw new CommandError(`${url} is not there: --server must be the scheduler-plugin, not the graph API`);
  if (!response.ok) throw new CommandError(`${url} answered with status ${response.status}`);
  const report = (await response.json()) as Partial<DeschedulerReport> | null;
  if (typeof report?.mode !== "string" || !Array.isArray(report.pods))
    throw new CommandError(`${url} didn't answer with a descheduler's report`);
  return report as DeschedulerReport;
}

function onlyOf(report: DeschedulerReport, namespace: string): DeschedulerReport {
  const pods = report.pods.filter((pod) => pod.namespace === namespace);
  const stay = Map.groupBy(
    pods.filter(({ decision }) => decision !== "move"),
    ({ decision }) => decision,
  );
  return {
    ...report,
    pods,
    skipped: Object.fromEntries([...stay].map(([reason, those]) => [reason, those.length])),
    inFlight: report.inFlight.filter((move) => move.namespace === namespace),
  };
}

function reportText(report: DeschedulerReport): string {
  if (report.mode === "off") return "the descheduler is off (descheduler.mode)";
  if (report.lastRunAt === null)
    return `mode ${report.mode}; this replica hasn't run it: another one leads, or the first run is yet to come`;
  const blocks = [summaryOf(report), podsTable(report), stayTable(report), inFlightTable(report)];
  return blocks.filter((block) => block !== "").join("\n\n");
}

/** Annotation on the Lease isochrone-planner with which people end a stop. */
const RESUME = "isochrone.dev/descheduler-resume=true";

function summaryOf({ mode, lastRunAt, runSeconds, halt, regret, stoppedUntil }: DeschedulerReport): string {
  const took = runSeconds === null ? "" : `, took ${runSeconds.toFixed(2)} s`;
  return [
    `mode ${mode}, last run ${lastRunAt}${took}`,
    ...(halt === null ? [] : [`nothing is moved: ${halt.detail} (${halt.reason})`]),
    `regret of the last moves: ${regret.toFixed(2)}${stoppedUntil === null ? "" : `, stopped until ${stoppedUntil}`}`,
    ...(stoppedUntil === null
      ? []
      : [
          `to resume at once: kubectl annotate lease isochrone-planner ${RESUME}, in the planner's namespace`,
        ]),
  ].join("\n");
}

/** Moved pods first, then by gain; pods that may not be moved are only counted. */
function podsTable({ mode, pods }: DeschedulerReport): string {
  const judged = pods
    .filter(({ cost, target }) => cost !== null || target !== null)
    .toSorted(
      (a, b) =>
        Number(b.decision === "move") - Number(a.decision === "move") || (b.gain ?? 0) - (a.gain ?? 0),
    );
  if (judged.length === 0) return "no pod may be moved";
  const move = mode === "dry-run" ? "would move" : "move";
  return table(
    ["pod", "node", "target", "cost, kB/s x ms", "gain", "gain, %", "of pods", "rounds", "decision", ""],
    judged.map(({ namespace, name, node, target, cost, gain, groupSize, rounds, decision, detail }) => [
      `${namespace}/${name}`,
      node,
      target,
      thousands(cost),
      thousands(gain),
      cost === null || gain === null || cost === 0 ? null : Math.round((100 * gain) / cost),
      groupSize,
      rounds,
      decision === "move" ? move : decision,
      detail,
    ]),
  );
}

function stayTable({ skipped }: DeschedulerReport): string {
  const reasons = Object.entries(skipped).sort(([, a], [, b]) => b - a);
  return reasons.length === 0 ? "" : table(["stays because", "pods"], reasons);
}

function inFlightTable({ inFlight }: DeschedulerReport): string {
  if (inFlight.length === 0) return "";
  return table(
    ["on its way", "from", "to", "since"],
    inFlight.map(({ namespace, name, from, to, since }) => [`${namespace}/${name}`, from, to, since]),
  );
}

function thousands(value: number | null): number | null {
  return value === null ? null : value / 1_000;
}
