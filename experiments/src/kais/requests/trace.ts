// Reads traces with the columns of Alibaba's cluster-trace-v2018 batch_task, which KaiS uses.
import type { TaskClass } from "./classes.ts";
import { SERVICES } from "./classes.ts";

export interface Task {
  readonly service: number;
  /** Seconds; any origin. */
  readonly start: number;
  readonly duration: number;
}

const SKIPPED = ["missing columns", "text for a number", "end before start", "time backwards"] as const;
type Skipped = (typeof SKIPPED)[number];

export interface Trace {
  readonly tasks: readonly Task[];
  readonly classes: readonly TaskClass[];
  readonly skipped: ReadonlyMap<Skipped, number>;
  readonly rows: number;
}

interface Row {
  readonly key: string;
  readonly planCpu: number;
  readonly planMemory: number;
  readonly start: number;
  readonly duration: number;
}

/** task_name, instance_num, job_name, task_type, status, start, end, plan_cpu, plan_mem */
const COLUMNS = 9;
const LEAST_TASKS = 1_000;
const REST: Pick<TaskClass, "planCpu" | "planMemory"> = { planCpu: 100, planMemory: 0.3 };

export class TraceError extends Error {
  constructor(subject: string, rule: string, value: string) {
    super(`${subject} ${rule}, got ${value}`);
    this.name = "TraceError";
  }
}

/** Skips unusable rows. @param subject name of the file in messages */
export function readTrace(text: string, subject: string): Trace {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const skipped = new Map<Skipped, number>();
  const rows: Row[] = [];
  for (const line of lines) {
    const row = readRow(line, rows.at(-1)?.start ?? 0);
    if (typeof row === "string") skipped.set(row, (skipped.get(row) ?? 0) + 1);
    else rows.push(row);
  }
  const trace = { ...classified(rows), skipped, rows: lines.length };
  if (rows.length < LEAST_TASKS)
    throw new TraceError(
      subject,
      `must have ${LEAST_TASKS} usable rows or more`,
      [String(rows.length), skippedText(trace)].filter((part) => part !== "").join("; "),
    );
  return trace;
}

/** `891 of 20000 rows left out: end before start 891`; empty if none was skipped. */
export function skippedText({ skipped, rows }: Pick<Trace, "skipped" | "rows">): string {
  if (skipped.size === 0) return "";
  const total = [...skipped.values()].reduce((sum, count) => sum + count, 0);
  const reasons = [...skipped].map(([reason, count]) => `${reason} ${count}`).join(", ");
  return `${total} of ${rows} rows left out: ${reasons}`;
}

function readRow(line: string, before: number): Row | Skipped {
  const fields = line.split(",").map((field) => field.trim());
  if (fields.length < COLUMNS) return "missing columns";
  const [start, end, planCpu, planMemory] = fields.slice(5, COLUMNS).map(numberOf);
  if (start === undefined || end === undefined || planCpu === undefined || planMemory === undefined)
    return "text for a number";
  if ([start, end, planCpu, planMemory].some((value) => Number.isNaN(value) || value < 0))
    return "text for a number";
  if (end <= start) return "end before start";
  if (start < before) return "time backwards";
  const key = `${fields[3]}|${planCpu}|${planMemory}`;
  return { key, planCpu, planMemory, start, duration: end - start };
}

/** Returns NaN for anything but a finite number, empty fields included. */
function numberOf(text: string): number {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
}

function classified(rows: readonly Row[]): Pick<Trace, "tasks" | "classes"> {
  const byKey = Map.groupBy(rows, ({ key }) => key);
  const frequent = [...byKey]
    .sort(([a, left], [b, right]) => right.length - left.length || (a < b ? -1 : 1))
    .slice(0, SERVICES - 1);
  const serviceOf = new Map(frequent.map(([key], service) => [key, service]));
  const tasks = rows.map(({ key, start, duration }) => ({
    service: serviceOf.get(key) ?? SERVICES - 1,
    start,
    duration,
  }));
  const known = frequent.map(([, [row, ...more]]) => ({
    share: (more.length + 1) / rows.length,
    planCpu: row!.planCpu,
    planMemory: row!.planMemory,
  }));
  const rest = 1 - known.reduce((sum, { share }) => sum + share, 0);
  const unused = Array.from({ length: SERVICES - 1 - known.length }, () => ({ share: 0, ...REST }));
  return { tasks, classes: [...known, ...unused, { share: Math.max(0, rest), ...REST }] };
}
