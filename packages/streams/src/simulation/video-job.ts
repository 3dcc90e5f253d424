// Application of ENTS' evaluation (Fig. 9): attribute recognition in video, ten tasks.
import { createStreamJob, type StreamJob, type StreamTaskSpec } from "../stream-job.ts";
import type { RandomNetwork } from "./random-network.ts";

const MIB = 2 ** 20;
/** Parallel tasks after detection: attributes and re-identification. */
const ATTRIBUTES = 7;

interface VideoJobOptions {
  readonly name: string;
  readonly source: number;
  readonly bytesPerFrame?: number;
  readonly minThroughput?: number;
}

interface VideoTask extends StreamTaskSpec {
  readonly seconds: number;
}

const CROP = 20_000;
const FEATURE = 2_000;
const BOXES = 1_000;

function videoTasks(bytesPerFrame: number): VideoTask[] {
  const attributes = Array.from({ length: ATTRIBUTES }, (_, at) => `attribute-${at + 1}`);
  return [
    {
      name: "decode",
      seconds: 0.2,
      memoryBytes: 200 * MIB,
      cpuMillicores: 200,
      downstream: [{ task: "detect", bytesPerFrame }],
    },
    {
      name: "detect",
      seconds: 1,
      memoryBytes: 400 * MIB,
      cpuMillicores: 400,
      downstream: [
        ...attributes.map((task) => ({ task, bytesPerFrame: CROP })),
        { task: "track", bytesPerFrame: BOXES },
      ],
    },
    ...attributes.map((name) => ({
      name,
      seconds: 1.5,
      memoryBytes: 400 * MIB,
      cpuMillicores: 400,
      downstream: [{ task: "track", bytesPerFrame: FEATURE }],
    })),
    { name: "track", seconds: 0.2, memoryBytes: 200 * MIB, cpuMillicores: 200 },
  ];
}

export function videoJob({ network, speeds }: RandomNetwork, options: VideoJobOptions): StreamJob {
  const { name, source, bytesPerFrame = 250_000, minThroughput = null } = options;
  const tasks = videoTasks(bytesPerFrame);
  const seconds = new Map(tasks.map((task) => [task.name, task.seconds]));
  return createStreamJob(
    { name, source: network.nodes[source]!, bytesPerFrame, tasks, minThroughput },
    network.nodes,
    (task, node) => seconds.get(task)! / speeds[node]!,
  );
}
