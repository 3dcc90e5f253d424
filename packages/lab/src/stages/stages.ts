// Simulated stages of streams: they wait instead of computing, and send frames of real size over TCP.
import type { Socket } from "node:net";
import { FrameQueue } from "./frame-queue.ts";

export interface StagedJob<Node = number> {
  readonly name: string;
  readonly source: Node;
  /** Seconds between frames. @default 0: as fast as the stages go */
  readonly sourceSecondsPerFrame?: number;
  readonly tasks: readonly { readonly node: Node; readonly secondsPerFrame: number }[];
  readonly dependencies: readonly {
    /** Index of a task; -1: the source. */
    readonly source: number;
    readonly target: number;
    readonly bytesPerFrame: number;
    /** Port of the flow; null if both are on one node. */
    readonly port: number | null;
  }[];
}

export interface FlowEnds {
  /** Writes. */
  readonly client: Socket;
  /** Reads. */
  readonly peer: Socket;
  close(): void;
}

export interface StageFlow<Node> {
  readonly from: Node;
  readonly to: Node;
  /** At its target. */
  readonly port: number;
}

export interface StageNetwork<Node> {
  open(flow: StageFlow<Node>): Promise<FlowEnds>;
}

interface StagesOptions {
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

/**
 * Frames buffered per stage and sender. At exactly the needed rate each hop lasts a whole period, so a
 * pipeline with one frame per hop would halve its rate.
 */
const QUEUE_FRAMES = 8;
const CHUNK = Buffer.alloc(16_384);
/** A timer later than this loses the excess. */
const LATE_SECONDS = 0.15;

export async function runStages<Node>(
  network: StageNetwork<Node>,
  jobs: readonly StagedJob<Node>[],
  { warmUpSeconds, seconds }: StagesOptions,
): Promise<number[]> {
  const started = jobs.map((job) => new RunningStages(network, job));
  try {
    await Promise.all(started.map((stages) => stages.opened));
    const began = now();
    await new Promise((resolve) => setTimeout(resolve, (warmUpSeconds + seconds) * 1_000));
    return started.map((stages) => stages.framesPerSecond(began + warmUpSeconds, seconds));
  } finally {
    for (const stages of started) stages.stop();
  }
}

const now = (): number => performance.now() / 1_000;
const KEPT_FRAMES = 20_000;

export class RunningStages<Node> {
  readonly opened: Promise<void>;
  readonly #done: number[] = [];
  readonly #ends: FlowEnds[] = [];
  readonly #stop = new AbortController();

  constructor(network: StageNetwork<Node>, job: StagedJob<Node>) {
    this.opened = this.#start(network, job);
    this.opened.catch(() => undefined);
  }

  /** From the first to the last frame since then, so that few frames count exactly. */
  framesPerSecond(sinceSeconds: number, seconds: number): number {
    const times = this.#done.filter((time) => time > sinceSeconds);
    return times.length > 2 ? (times.length - 1) / (times.at(-1)! - times[0]!) : times.length / seconds;
  }

  recentFramesPerSecond(seconds: number): number {
    return this.framesPerSecond(now() - seconds, seconds);
  }

  stop(): void {
    this.#stop.abort();
    for (const ends of this.#ends) ends.close();
  }

  async #start(network: StageNetwork<Node>, job: StagedJob<Node>): Promise<void> {
    const { signal } = this.#stop;
    const inputs: FrameQueue[][] = job.tasks.map(() => []);
    const outputs: FrameQueue[][] = job.tasks.map(() => []);
    const arising: FrameQueue[] = [];
    for (const { source, target, bytesPerFrame, port } of job.dependencies) {
      const sending = new FrameQueue(QUEUE_FRAMES);
      const from = source === -1 ? job.source : job.tasks[source]!.node;
      const to = job.tasks[target]!.node;
      const receiving =
        port === null
          ? sending
          : await this.#openFlow(network, { from, to, port }, { bytesPerFrame, sending });
      if (signal.aborted) return;
      (source === -1 ? arising : outputs[source]!).push(sending);
      inputs[target]!.push(receiving);
    }
    const secondsPerFrame = job.sourceSecondsPerFrame ?? 0;
    runStage({ secondsPerFrame, inputs: [], outputs: arising, onFrame: () => {}, signal });
    for (const [at, task] of job.tasks.entries()) {
      const isLast = at === job.tasks.length - 1;
      const onFrame = isLast ? () => this.#finished() : () => {};
      runStage({ ...task, inputs: inputs[at]!, outputs: outputs[at]!, onFrame, signal });
    }
  }

  #finished(): void {
    this.#done.push(now());
    if (this.#done.length > KEPT_FRAMES) this.#done.splice(0, KEPT_FRAMES / 2);
  }

  async #openFlow(
    network: StageNetwork<Node>,
    flow: StageFlow<Node>,
    { bytesPerFrame, sending }: { readonly bytesPerFrame: number; readonly sending: FrameQueue },
  ): Promise<FrameQueue> {
    const receiving = new FrameQueue(QUEUE_FRAMES);
    const ends = await network.open(flow);
    this.#ends.push(ends);
    if (this.#stop.signal.aborted) ends.close();
    receive(ends.peer, bytesPerFrame, receiving);
    send(ends.client, bytesPerFrame, sending);
    return receiving;
  }
}

interface Stage {
  readonly secondsPerFrame: number;
  readonly inputs: readonly FrameQueue[];
  readonly outputs: readonly FrameQueue[];
  readonly onFrame: () => void;
  readonly signal: AbortSignal;
}

/** Loops: takes a frame from each input, waits, and puts one into each output. */
function runStage({ secondsPerFrame, inputs, outputs, onFrame, signal }: Stage): void {
  let isBusy = false;
  let endsAt = 0;
  const finish = (): void => {
    onFrame();
    for (const queue of outputs) queue.put();
    isBusy = false;
    step();
  };
  const step = (): void => {
    const isReady = inputs.every(({ hasFrame }) => hasFrame) && outputs.every(({ hasRoom }) => hasRoom);
    if (isBusy || signal.aborted || !isReady) return;
    isBusy = true;
    for (const queue of inputs) queue.take();
    if (secondsPerFrame === 0) return finish();
    // From the planned end: late timers on a busy machine aren't work.
    endsAt = Math.max(endsAt + secondsPerFrame, now() + secondsPerFrame - LATE_SECONDS);
    setTimeout(finish, Math.max(0, (endsAt - now()) * 1_000));
  };
  for (const queue of [...inputs, ...outputs]) queue.onChange(step);
  queueMicrotask(step);
}

function send(socket: Socket, bytesPerFrame: number, frames: FrameQueue): void {
  let isSending = false;
  const step = (left: number): void => {
    if (left === 0) {
      isSending = false;
      begin();
      return;
    }
    const size = Math.min(left, CHUNK.length);
    socket.write(CHUNK.subarray(0, size), (error) => {
      if (error === null || error === undefined) step(left - size);
    });
  };
  const begin = (): void => {
    if (isSending || !frames.hasFrame) return;
    isSending = true;
    frames.take();
    step(bytesPerFrame);
  };
  frames.onChange(begin);
}

function receive(socket: Socket, bytesPerFrame: number, frames: FrameQueue): void {
  let bytes = 0;
  const deliver = (): void => {
    for (; bytes >= bytesPerFrame && frames.hasRoom; bytes -= bytesPerFrame) frames.put();
    if (bytes < bytesPerFrame) socket.resume();
    else socket.pause();
  };
  frames.onChange(deliver);
  socket.on("data", (data) => {
    bytes += data.length;
    deliver();
  });
}
