// Stand-in stages of streams on a mesh: they compute by waiting, and send frames of real size over TCP.
import { createServer, Socket, type Server } from "node:net";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { FrameQueue } from "./frame-queue.ts";
import type { MeshLab } from "./mesh-lab.ts";

/** A job of stages on nodes of a mesh. */
export interface StagedJob {
  readonly name: string;
  /** Node at which frames arise, as many as the stages take. */
  readonly source: number;
  /** In topological order. */
  readonly tasks: readonly { readonly node: number; readonly secondsPerFrame: number }[];
  readonly dependencies: readonly {
    /** Index of a task; -1: the source. */
    readonly source: number;
    readonly target: number;
    readonly bytesPerFrame: number;
    /** Of the flow; null when both are on one node. */
    readonly port: number | null;
  }[];
}

interface StagesOptions {
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

/**
 * Frames that wait for a stage, and for its sender. At a rate of exactly what the job needs each hop lasts a
 * whole period, so a pipeline needs some buffer: with one frame it halves.
 */
const QUEUE_FRAMES = 8;
const CHUNK = Buffer.alloc(16_384);
/** A timer that is later than this lost its time for good. */
const LATE_SECONDS = 0.15;

/** Runs the jobs together. Returns the frames per second of each after the warm-up. */
export async function runStages(
  mesh: MeshLab,
  jobs: readonly StagedJob[],
  { warmUpSeconds, seconds }: StagesOptions,
): Promise<number[]> {
  const stop = new AbortController();
  const ends: (Server | Socket)[] = [];
  try {
    const done = await Promise.all(jobs.map((job) => start(mesh, job, ends, stop.signal)));
    const began = now();
    await sleep((warmUpSeconds + seconds) * 1_000);
    return done.map((times) =>
      frequency(
        times.filter((time) => time > began + warmUpSeconds),
        seconds,
      ),
    );
  } finally {
    stop.abort();
    for (const end of ends)
      if ("destroy" in end) end.destroy();
      else end.close();
  }
}

/** By the first and the last frame, so that few frames are counted exactly. */
function frequency(times: readonly number[], seconds: number): number {
  return times.length > 2 ? (times.length - 1) / (times.at(-1)! - times[0]!) : times.length / seconds;
}

const now = (): number => performance.now() / 1_000;

/** Returns the times at which frames left the last task, which grows. */
async function start(
  mesh: MeshLab,
  job: StagedJob,
  ends: (Server | Socket)[],
  signal: AbortSignal,
): Promise<number[]> {
  const inputs: FrameQueue[][] = job.tasks.map(() => []);
  const outputs: FrameQueue[][] = job.tasks.map(() => []);
  const arising: FrameQueue[] = [];
  for (const { source, target, bytesPerFrame, port } of job.dependencies) {
    const sending = new FrameQueue(QUEUE_FRAMES);
    const from = source === -1 ? job.source : job.tasks[source]!.node;
    const to = job.tasks[target]!.node;
    const receiving =
      port === null ? sending : await openFlow(mesh, { from, to, port, bytesPerFrame, sending, ends });
    (source === -1 ? arising : outputs[source]!).push(sending);
    inputs[target]!.push(receiving);
  }
  const done: number[] = [];
  runStage({ secondsPerFrame: 0, inputs: [], outputs: arising, onFrame: () => {}, signal });
  for (const [at, { secondsPerFrame }] of job.tasks.entries()) {
    const isLast = at === job.tasks.length - 1;
    const onFrame = isLast ? () => done.push(now()) : () => {};
    runStage({ secondsPerFrame, inputs: inputs[at]!, outputs: outputs[at]!, onFrame, signal });
  }
  return done;
}

interface Stage {
  readonly secondsPerFrame: number;
  readonly inputs: readonly FrameQueue[];
  readonly outputs: readonly FrameQueue[];
  readonly onFrame: () => void;
  readonly signal: AbortSignal;
}

/** Takes a frame of each input, computes, and gives one to each output, again and again. */
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
    // From when it should have ended: on a busy machine timers are late, and that is no work.
    endsAt = Math.max(endsAt + secondsPerFrame, now() + secondsPerFrame - LATE_SECONDS);
    setTimeout(finish, Math.max(0, (endsAt - now()) * 1_000));
  };
  for (const queue of [...inputs, ...outputs]) queue.onChange(step);
  queueMicrotask(step);
}

interface FlowEnds {
  readonly from: number;
  readonly to: number;
  readonly port: number;
  readonly bytesPerFrame: number;
  readonly sending: FrameQueue;
  readonly ends: (Server | Socket)[];
}

/** Returns the queue into which frames come on the other node. */
async function openFlow(mesh: MeshLab, flow: FlowEnds): Promise<FrameQueue> {
  const { from, to, port, bytesPerFrame, sending, ends } = flow;
  const receiving = new FrameQueue(QUEUE_FRAMES);
  // Without a host, or the socket is opened later and elsewhere.
  const server = mesh.within(to, () => createServer().listen(port));
  ends.push(server);
  if (!server.listening) await once(server, "listening");
  const accepted = once(server, "connection") as Promise<[Socket]>;
  // Node opens a connection's socket when the thread has left the node; it writes only.
  const client = new Socket({ fd: mesh.openSocket(from), readable: false, writable: true });
  ends.push(client);
  client.connect({ host: mesh.address(to), localAddress: mesh.address(from), port });
  client.setNoDelay();
  await once(client, "connect");
  client.on("error", () => undefined);
  const [peer] = await accepted;
  ends.push(peer);
  peer.on("error", () => undefined);
  receive(peer, bytesPerFrame, receiving);
  send(client, bytesPerFrame, sending);
  return receiving;
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
