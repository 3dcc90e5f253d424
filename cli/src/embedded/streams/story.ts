// Story of `isochrone up --streams`: jobs placed by a baseline, by the controller, and after a link lost
// capacity. Compares predictions with measurements.
import { conditionsOf, keyOf, type KubernetesObject } from "@isochrone/kubernetes";
import { looseFields, looseList } from "@isochrone/primitives";
import { RunningStages } from "@isochrone/lab/streams";
import type { Clock } from "@isochrone/runtime";
import { partitioned } from "@isochrone/streams";
import { jobView } from "../../streams/job-view.ts";
import { planStreams, type PlannedLimit } from "../../streams/plan-streams.ts";
import { stagesOf, type StreamSample } from "./sample.ts";
import type { StreamLab } from "./stream-lab.ts";

/** `tp`: ENTS' baseline without rates. `joint`: the controller. `changed`: with less capacity. */
export type StreamAct = "tp" | "joint" | "changed";

export interface StreamFigures {
  /** namespace/name */
  readonly job: string;
  /** Frames per second; null: the job waits. */
  readonly predicted: number | null;
  readonly measured: number | null;
  readonly limit: string;
}

export interface StreamReporter {
  placing(act: StreamAct, what: string): void;
  measured(act: StreamAct, figures: readonly StreamFigures[]): void;
  verdict(acts: ReadonlyMap<StreamAct, readonly StreamFigures[]>): void;
  trouble(what: string): void;
}

interface StoryOptions {
  readonly sample: StreamSample;
  readonly reporter: StreamReporter;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const POLL_MS = 500;
const SETTLE_MS = 6_000;
const MEASURED_SECONDS = 10;
const PLACED_WITHIN_MS = 120_000;
const LEFT = 0.5;

/** Rejects with the signal's reason if aborted. */
export async function playStreams(lab: StreamLab, options: StoryOptions): Promise<void> {
  const { sample, reporter } = options;
  const acts = new Map<StreamAct, readonly StreamFigures[]>();
  const add = (act: StreamAct, figures: readonly StreamFigures[]): void => {
    acts.set(act, figures);
    reporter.measured(act, figures);
  };
  reporter.placing("tp", "as ENTS' baseline TP places them; flows share links as TCP does");
  add("tp", await playBaseline(lab, options));
  reporter.placing("joint", "by the controller; network managers keep the rates");
  for (const job of sample.jobs) await lab.submit(job);
  const before = await untilRunning(lab, options, () => true);
  add("joint", await measuredJobs(lab, options));
  const change = await narrowLink(lab, sample);
  if (change !== null) {
    reporter.placing("changed", change);
    await untilRunning(lab, options, (jobs) => predictions(jobs) !== predictions(before));
    add("changed", await measuredJobs(lab, options));
  }
  reporter.verdict(acts);
}

/** Without controller and managers: stages on nodes and the kernel's default routes. */
async function playBaseline(lab: StreamLab, options: StoryOptions): Promise<StreamFigures[]> {
  const { sample, clock, signal } = options;
  const plan = await planStreams(sample.system(), partitioned("tcp"));
  const started = new Map<string, RunningStages<string>>();
  try {
    for (const { name, tasks } of plan.jobs) {
      const job = sample.jobs.find((each) => keyOf(each) === name)!;
      const hosts = new Map(tasks.map((task) => [task.name, task.node]));
      const stages = stagesOf(job, hosts, sample.sites);
      if (stages !== null) started.set(name, new RunningStages(lab.network, stages));
    }
    await Promise.all([...started.values()].map(({ opened }) => opened));
    await clock.sleep(SETTLE_MS + MEASURED_SECONDS * 1_000, signal);
    return sample.jobs.map((job) => {
      const planned = plan.jobs.find(({ name }) => name === keyOf(job));
      return {
        job: keyOf(job),
        predicted: planned?.throughput ?? null,
        measured: started.get(keyOf(job))?.recentFramesPerSecond(MEASURED_SECONDS) ?? null,
        limit: planned === undefined ? "no room" : limitText(planned.limit),
      };
    });
  } finally {
    for (const stages of started.values()) stages.stop();
  }
}

function limitText(limit: PlannedLimit): string {
  return limit.kind === "task"
    ? `task ${limit.task} on ${limit.node}`
    : `link ${limit.source} -> ${limit.target}`;
}

/** Polls until each job runs as expected or waits permanently; continues with whatever is there. */
async function untilRunning(
  lab: StreamLab,
  { reporter, clock, signal }: StoryOptions,
  isIt: (jobs: readonly KubernetesObject[]) => boolean,
): Promise<readonly KubernetesObject[]> {
  const untilMs = clock.monotonic() + PLACED_WITHIN_MS;
  for (;;) {
    const jobs = await lab.jobs();
    const open = jobs.filter((job) => !["Running", "Waiting", "Failed"].includes(jobView(job).phase ?? ""));
    if (open.length === 0 && isIt(jobs)) return jobs;
    if (clock.monotonic() > untilMs) {
      const reasons = open.map((job) => `${keyOf(job)}: ${openCondition(job)}`);
      reporter.trouble(`not all stream jobs are as they should be: ${reasons.join("; ")}`);
      return jobs;
    }
    await clock.sleep(POLL_MS, signal);
  }
}

function openCondition(job: KubernetesObject): string {
  return conditionsOf(job).find(({ status }) => status !== "True")?.message ?? "no condition says why";
}

function predictions(jobs: readonly KubernetesObject[]): string {
  return jobs.map((job) => jobView(job).throughput).join(" ");
}

async function measuredJobs(
  lab: StreamLab,
  { sample, clock, signal }: StoryOptions,
): Promise<StreamFigures[]> {
  await clock.sleep(SETTLE_MS + MEASURED_SECONDS * 1_000, signal);
  const measured = lab.cluster.framesPerSecond(MEASURED_SECONDS);
  const views = new Map((await lab.jobs()).map((job) => [keyOf(job), jobView(job)]));
  return sample.jobs.map((job) => {
    const view = views.get(keyOf(job));
    return {
      job: keyOf(job),
      predicted: view?.throughput ?? null,
      measured: measured.get(keyOf(job)) ?? null,
      limit: view?.limit ?? "",
    };
  });
}

type Limit = Record<"kind" | "source" | "target", unknown>;
type Json = Readonly<Record<string, unknown>>;

/** Reduces a limiting link's capacity. Null: no link limits. */
async function narrowLink(lab: StreamLab, { networks, links }: StreamSample): Promise<string | null> {
  const limits = (await lab.jobs()).map(({ status }) =>
    looseFields<Limit>(looseFields<{ limit: unknown }>(status).limit),
  );
  const limit = limits.find(({ kind }) => kind === "link");
  const link = links.find(
    ({ a, b }) => (a === limit?.source && b === limit.target) || (b === limit?.source && a === limit.target),
  );
  if (link === undefined) return null;
  const bitsPerSecond = link.bitsPerSecond * LEFT;
  lab.network.setCapacity({ ...link, bitsPerSecond });
  for (const network of networks) {
    const listed: readonly Json[] = looseList(looseFields<{ links: unknown }>(network.spec).links);
    const isIt = ({ source, target }: Json): boolean => source === link.a && target === link.b;
    if (!listed.some(isIt)) continue;
    const changed = listed.map((each) => (isIt(each) ? { ...each, capacity: String(bitsPerSecond) } : each));
    await lab.changeLinks(network, { links: changed });
  }
  const megabits = (bits: number): string => `${bits / 1e6} Mbit/s`;
  return `link ${link.a} - ${link.b} has ${megabits(bitsPerSecond)} instead of ${megabits(link.bitsPerSecond)}`;
}
