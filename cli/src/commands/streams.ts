import { readTextFile } from "@isochrone/runtime";
import { joint, otfa, otfs, partitioned, type StreamStrategy } from "@isochrone/streams";
import { loadSolver } from "@isochrone/experiments/solver";
import { usageError } from "../errors.ts";
import { formatted, type Format } from "../output/format.ts";
import { table } from "../output/table.ts";
import { DumpError } from "../score/errors.ts";
import { readObjects } from "../score/read-objects.ts";
import { megabits } from "../streams/job-view.ts";
import { planStreams, type PlannedJob, type PlannedLimit, type StreamPlan } from "../streams/plan-streams.ts";
import { readStreams } from "../streams/read-streams.ts";

const STREAM_STRATEGIES = ["joint", "otfs", "otfa", "tp"] as const;
type StreamStrategyName = (typeof STREAM_STRATEGIES)[number];

interface StreamsPlanOptions {
  readonly strategy: StreamStrategyName;
  readonly output: Format;
}

export async function streamsPlanCommand(
  files: readonly string[],
  { strategy, output }: StreamsPlanOptions,
  print: (text: string) => void,
): Promise<void> {
  try {
    const objects = readStreams(files.flatMap((file) => readObjects(readTextFile(file), file)));
    if (objects.jobs.length === 0)
      throw usageError(`the files must have a StreamJob, got none in ${files.join(", ")}`);
    print(formatted(output, await planStreams(objects, await strategyOf(strategy)), planText));
  } catch (error) {
    if (error instanceof DumpError) throw usageError(error.message, { cause: error });
    throw error;
  }
}

async function strategyOf(name: StreamStrategyName): Promise<StreamStrategy> {
  if (name === "joint") return joint();
  if (name === "tp") return partitioned();
  const solve = await loadSolver();
  return name === "otfs" ? otfs({ solve }) : otfa({ solve });
}

function planText({ jobs, waiting }: StreamPlan): string {
  const overview = table(
    ["job", "frames/s", "promised", "limited by"],
    [
      ...jobs.map(({ name, throughput, minThroughput, limit }) => [
        name,
        throughput.toFixed(2),
        minThroughput === null ? "" : String(minThroughput),
        limitText(limit),
      ]),
      ...waiting.map((name) => [name, "waits", "", "no room for it beside the others"]),
    ],
  );
  return [overview, ...jobs.map(jobText)].join("\n\n");
}

function limitText(limit: PlannedLimit): string {
  return limit.kind === "task"
    ? `task ${limit.task} on ${limit.node}`
    : `link ${limit.source} -> ${limit.target} (${megabits(limit.capacityBitsPerSecond)})`;
}

function jobText({ name, tasks, flows }: PlannedJob): string {
  const places = tasks.map((task) => `${task.name} on ${task.node}`).join(", ");
  const rows = flows.map(({ from, to, route, bitsPerSecond }) => [
    `${from} -> ${to}`,
    megabits(bitsPerSecond),
    route.join(" "),
  ]);
  return `${name}: ${places}${rows.length === 0 ? "" : `\n${table(["flow", "rate", "route"], rows)}`}`;
}
