import {
  createLogger,
  Lifecycle,
  nodeProcessHost,
  serviceSettings,
  loadSettings,
  pause,
  systemClock,
} from "@isochrone/runtime";
import type { Clock, ProcessHost } from "@isochrone/runtime";
import { availableParallelism, loadavg } from "node:os";
import { Writable } from "node:stream";
import { definedOf } from "@isochrone/primitives";
import { ACTS, actsMistake, type Act } from "../embedded/acts.ts";
import { Embedded } from "../embedded/embedded.ts";
import { MachineWatch } from "../embedded/machine.ts";
import { MoveLog } from "../embedded/move-log.ts";
import type { EmbeddedOptions } from "../embedded/options.ts";
import { rehearse } from "../embedded/rehearsal.ts";
import { usageError } from "../errors.ts";
import type { Reporter } from "../output/reporter.ts";
import type { Format } from "../output/format.ts";
import { jsonReporter, lineReporter, yamlReporter } from "../output/reporters.ts";
import { screenReporter } from "../output/screen-reporter.ts";

interface UpOptions {
  readonly port: number;
  readonly nodes?: number;
  readonly matrix?: string;
  readonly manifest?: string;
  readonly kubeconfig?: string;
  readonly prices?: string;
  readonly rate: number;
  readonly window: number;
  readonly seed: number;
  readonly acts?: readonly Act[];
  readonly allowHost: readonly string[];
  readonly output: Format;
}

const DEFAULT_NODES = 8;

export async function upCommand(options: UpOptions, print: (text: string) => void): Promise<void> {
  const acts = actsOf(options);
  const { reporter, log } = reporterOf(options.output, print);
  const logger = createLogger({ service: "isochrone", ...logLevelOf(process.env), destination: log });
  const ending = new AbortController();
  const host = nodeProcessHost();
  const isReal = options.kubeconfig !== undefined;
  const offSignal = onEnd(host, ending, systemClock, isReal ? STOP_REAL_WITHIN_MS : STOP_WITHIN_MS);
  const lifecycle = new Lifecycle();
  const isNamed = isReal || (options.matrix !== undefined && options.nodes === undefined);
  reporter.starting(isNamed ? null : (options.nodes ?? DEFAULT_NODES));
  const embedded = await startUnlessEnded(
    { ...embeddedOptions(options, acts), logger, env: process.env },
    ending,
    reporter,
  );
  if (embedded === null) {
    reporter.stopping();
    reporter.stopped();
    // A composed but unstarted service may hold threads.
    return host.exit(0);
  }
  try {
    lifecycle.to("running");
    reporter.started(embedded.urls, process.pid, embedded.pageWithControls);
    if (embedded.table !== null) reporter.network(embedded.table);
    embedded.network.onDown((reason) => reporter.networkDown(reason));
    await runUntilEnd(embedded, { windowMs: options.window, acts, reporter, signal: ending.signal });
  } finally {
    lifecycle.to("draining");
    reporter.stopping();
    await embedded.stop();
    lifecycle.to("stopped");
    reporter.stopped();
    offSignal();
  }
}

export function logLevelOf(env: Readonly<Record<string, string | undefined>>) {
  const { service } = loadSettings([serviceSettings], {
    env,
    // Services warn about ending pods, dead nodes and cut links, which are the demo's purpose.
    file: { service: { logLevel: "error", logFormat: "text" } },
  });
  return { level: service.logLevel, format: service.logFormat };
}

/** Null if it was aborted while starting. */
async function startUnlessEnded(
  options: EmbeddedOptions,
  { signal }: AbortController,
  reporter: Reporter,
): Promise<Embedded | null> {
  try {
    return await Embedded.start(options, signal, reporter);
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}

/** Ctrl-C arrives twice at once: from the terminal and from the parent process. */
const IMPATIENT_AFTER_MS = 500;

const STOP_WITHIN_MS = 5_000;
/** With a real API server, from which the workflow must be removed. */
const STOP_REAL_WITHIN_MS = 60_000;

export function onEnd(
  host: Pick<ProcessHost, "onSignal" | "exit">,
  ending: AbortController,
  clock: Clock,
  withinMs: number,
): () => void {
  let askedAtMs = 0;
  const stopped = new AbortController();
  const exitUnlessStopped = async (): Promise<void> => {
    await pause(clock, withinMs, stopped.signal);
    if (!stopped.signal.aborted) host.exit(1);
  };
  const off = host.onSignal((signal) => {
    const nowMs = clock.monotonic();
    if (!ending.signal.aborted) {
      askedAtMs = nowMs;
      ending.abort(signal);
      void exitUnlessStopped();
    } else if (nowMs - askedAtMs > IMPATIENT_AFTER_MS) host.exit(1);
  });
  return () => {
    stopped.abort();
    off();
  };
}

function actsOf({ acts, kubeconfig }: UpOptions): readonly Act[] {
  const isReal = kubeconfig !== undefined;
  const chosen = acts ?? (isReal ? REAL_ACTS : ACTS);
  const mistake = actsMistake(chosen);
  if (mistake !== null) throw usageError(mistake);
  const other = isReal ? chosen.find((act) => !REAL_ACTS.includes(act)) : undefined;
  if (other !== undefined)
    throw usageError(`--acts with --kubeconfig must be of ${REAL_ACTS.join(" ")}, got ${other}`);
  return chosen;
}

/** In a real cluster, enabling planner and descheduler is the administrator's decision. */
const REAL_ACTS: readonly Act[] = ["spread", "score"];

function reporterOf(output: Format, print: (text: string) => void): { reporter: Reporter; log: Writable } {
  if (output !== "table")
    return { reporter: output === "json" ? jsonReporter(print) : yamlReporter(print), log: process.stderr };
  if (!process.stdout.isTTY) return { reporter: lineReporter(process.stdout), log: process.stderr };
  const screen = screenReporter(process.stdout, () => new Date().toTimeString().slice(0, 8));
  const log = new Writable({
    write(chunk: Buffer, _, done) {
      screen.log(chunk.toString().trimEnd());
      done();
    },
  });
  return { reporter: screen, log: process.stderr.isTTY ? log : process.stderr };
}

function embeddedOptions(options: UpOptions, acts: readonly Act[]) {
  const [first] = acts;
  const { port, nodes, matrix, manifest, kubeconfig, prices, rate, window, seed, allowHost } = options;
  return {
    port,
    requestsPerSecond: rate,
    windowMs: window,
    seed,
    placement: first === "score" ? ("score" as const) : ("spread" as const),
    allowedHosts: allowHost,
    movesPods: acts.includes("live"),
    ...definedOf({ nodes, matrix, manifest, kubeconfig, prices }),
  };
}

const TABLE_INTERVAL_MS = 2_000;
/** Share of a window for end-to-end figures after a move, so that they exclude the time before it. */
const MOVE_SHARE = 2 / 3;
const STRAIN_MS = 10_000;

interface Run {
  readonly windowMs: number;
  readonly acts: readonly Act[];
  readonly reporter: Reporter;
  readonly signal: AbortSignal;
}

/** Waits for slow parts instead of rejecting. */
async function runUntilEnd(embedded: Embedded, run: Run): Promise<void> {
  const { reporter, signal } = run;
  const clock = systemClock;
  const machine = machineWatch(embedded, reporter);
  const play = async (): Promise<void> => {
    await rehearse(embedded, { ...run, clock, isLate: () => machine.state.isLate });
    await Promise.all([
      showTables(embedded, reporter, signal),
      live(embedded, run, () => machine.state.isBusy),
    ]);
  };
  try {
    await Promise.all([play(), machine.run(signal)]);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function machineWatch(embedded: Embedded, reporter: Reporter): MachineWatch {
  return new MachineWatch({
    clock: systemClock,
    load: () => loadavg()[0]!,
    cores: availableParallelism(),
    unanswered: async () => {
      const { count, errors } = await embedded.cluster.endToEnd({ lastMs: STRAIN_MS });
      return errors / Math.max(1, count + errors);
    },
    setPace: (factor) => embedded.setPace(factor),
    onChange: (state) => reporter.machine(state),
  });
}

/** From here on pods move by themselves and moves are printed; without `live`, only by `plan --apply`. */
async function live(
  embedded: Embedded,
  { acts, windowMs, reporter, signal }: Run,
  isBusy: () => boolean,
): Promise<void> {
  if (!acts.includes("live")) return embedded.startMoving();
  const { cluster, moves } = embedded;
  const log = new MoveLog({
    clock: systemClock,
    lastMs: Math.round(windowMs * MOVE_SHARE),
    endToEnd: (lastMs) => cluster.endToEnd({ lastMs }),
    onMoved: (group) => reporter.moved(group),
    onMeasured: (group, after, doubt) => reporter.moveMeasured(group, after, doubt),
    isBusy,
  });
  const off = moves.subscribe((move) => log.hear(move));
  try {
    await embedded.startMoving();
    await log.run(signal);
  } finally {
    off();
  }
}

async function showTables(embedded: Embedded, reporter: Reporter, signal: AbortSignal): Promise<void> {
  for (;;) {
    await reportTable(embedded, reporter);
    await systemClock.sleep(TABLE_INTERVAL_MS, signal);
  }
}

/** An unreadable graph is shown in the table and ends nothing. */
async function reportTable({ graphs, cluster }: Embedded, reporter: Reporter): Promise<void> {
  try {
    const [{ value: graph }, endToEnd] = await Promise.all([
      graphs.cluster(),
      cluster.endToEnd({ lastMs: 20_000 }),
    ]);
    reporter.table({ graph, endToEnd, pods: cluster.pods() });
  } catch (error) {
    reporter.tableFailed(error);
  }
}
