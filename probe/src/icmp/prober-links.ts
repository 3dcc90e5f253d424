import { fork } from "node:child_process";
import { Worker } from "node:worker_threads";
import { DescriptorLedger, isLibcSupported, loadLibc } from "@isochrone/kernel-sockets";
import type { IcmpProberName } from "../ports/ports.ts";
import type { FromIcmp, IcmpReport, ToIcmp } from "./messages.ts";

const STOP_DEADLINE_MS = 1000;

export interface ProberLink {
  post(message: ToIcmp): void;
  /** Activity since the last report, for a sender in the same thread. */
  take?(engine: number): IcmpReport | null;
  close(): Promise<void>;
}

export interface ProberEvents {
  onMessage(message: FromIcmp): void;
  onEnd(reason: string): void;
}

export type StartProber = (events: ProberEvents) => ProberLink;

export function proberStarters(
  kernelWorkerUrl: URL = new URL("./worker.ts", import.meta.url),
): Readonly<Record<IcmpProberName, StartProber>> {
  return {
    kernel: (events) => startWorker(kernelWorkerUrl, "isochrone-icmp", events),
    net_ping: (events) => startChild(new URL("./net-ping/child.ts", import.meta.url), events),
  };
}

function startWorker(url: URL, name: string, events: ProberEvents): ProberLink {
  const ledger = new DescriptorLedger();
  const worker = new Worker(url, { name, execArgv: [], workerData: { descriptors: ledger.buffer } });
  const end = endOnce(events);
  const exited = Promise.withResolvers<void>();
  let cause: unknown = null;
  worker.on("message", (message: FromIcmp) => end.isOver || events.onMessage(message));
  worker.on("error", (error) => {
    cause = error;
  });
  worker.on("exit", (code) => {
    void closeDescriptors(ledger).finally(exited.resolve);
    end.report(cause instanceof Error ? cause.message : `the thread ended with code ${code}`);
  });
  const post = worker.postMessage.bind(worker);
  return { post, close: () => endWithin(end, post, exited.promise, () => void worker.terminate()) };
}

function startChild(url: URL, events: ProberEvents): ProberLink {
  const child = fork(url, {
    execArgv: [],
    serialization: "advanced",
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    // Our environment may hold secrets, and the child needs none of it.
    env: {},
  });
  const end = endOnce(events);
  const exited = Promise.withResolvers<void>();
  let complaint = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-1000);
  });
  child.on("message", (message) => end.isOver || events.onMessage(message as FromIcmp));
  const over = (reason: string): void => {
    exited.resolve();
    end.report(reason);
  };
  child.on("error", (error) => over(error.message));
  child.on("exit", (code, signal) => {
    const last = complaint
      .trim()
      .split("\n")
      .findLast((line) => line.includes("Error"));
    over(
      `the child process ended with ${signal ?? `code ${code}`}${last === undefined ? "" : `: ${last.trim()}`}`,
    );
  });
  const post = (message: ToIcmp): void => {
    // A dying child cannot be written to; its end is reported anyway.
    if (child.connected) child.send(message, () => {});
  };
  return { post, close: () => endWithin(end, post, exited.promise, () => void child.kill("SIGKILL")) };
}

interface End {
  readonly isOver: boolean;
  report(reason: string | null): void;
}

function endOnce(events: ProberEvents): End {
  let isOver = false;
  return {
    get isOver() {
      return isOver;
    },
    report(reason) {
      if (isOver) return;
      isOver = true;
      if (reason !== null) events.onEnd(reason);
    },
  };
}

async function endWithin(
  end: End,
  tell: (message: ToIcmp) => void,
  exited: Promise<void>,
  kill: () => void,
): Promise<void> {
  end.report(null);
  tell({ type: "stop" });
  const timer = setTimeout(kill, STOP_DEADLINE_MS);
  await exited;
  clearTimeout(timer);
}

/** Descriptors belong to the process: those of a terminated thread stay open. */
async function closeDescriptors(ledger: DescriptorLedger): Promise<void> {
  const open = ledger.takeOpen();
  if (open.length === 0 || !isLibcSupported()) return;
  const libc = await loadLibc();
  for (const fd of open) libc.close(fd);
}
