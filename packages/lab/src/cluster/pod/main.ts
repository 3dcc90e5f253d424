// Process of one pod: application and sidecar on their own sockets, with an IPC channel. Few imports:
// seventeen of these start at once on a small machine.
import { createServer } from "node:http";
import type { RequestListener, Server } from "node:http";
import { setPriority } from "node:os";
import { boundPort, reasonOf } from "@isochrone/primitives";
import { SIDECAR_METRICS_PATH } from "../names.ts";
import { Application } from "./application.ts";
import { ModelledCpu, OwnCpu, SharedCpu } from "./cpu.ts";
import type { FromPod, PodConfig, ToPod, Usage } from "./protocol.ts";
import { Sidecar } from "./sidecar.ts";

const LOOPBACK = "127.0.0.1";

const send = (message: FromPod, after?: () => void): void => {
  if (process.connected) process.send!(message, undefined, undefined, () => after?.());
  else after?.();
};

function usage(modelledSeconds: number): Usage {
  const { user, system } = process.cpuUsage();
  const cpuSeconds = (user + system) / 1e6 + modelledSeconds;
  return { timeMs: Date.now(), cpuSeconds, memoryBytes: process.memoryUsage.rss() };
}

/** Longer than clients keep connections, so that the server never closes first. */
const KEEP_LONGER_MS = 35_000;

function listen(
  handler: RequestListener,
  host: string,
  port: number,
  idleTimeoutMs: number,
): Promise<Server> {
  return new Promise((resolve, reject) => {
    const keepAliveTimeout = idleTimeoutMs + KEEP_LONGER_MS;
    const server = createServer({ keepAliveTimeout, requestTimeout: 0 }, handler);
    server.on("error", (error: NodeJS.ErrnoException) => {
      if (port !== 0 && error.code === "EADDRINUSE") resolve(listen(handler, host, 0, idleTimeoutMs));
      else reject(error);
    });
    server.listen(port, host, () => resolve(server));
  });
}

const addressOf = (server: Server): { host: string; port: number } => ({
  host: LOOPBACK,
  port: boundPort(server),
});

class Pod {
  readonly #application: Application;
  readonly #sidecar: Sidecar;
  readonly #config: PodConfig;
  readonly #sharedCpu: SharedCpu | null;
  readonly #modelledCpu: ModelledCpu | null;
  #applicationAddress = { host: LOOPBACK, port: 0 };
  #outboundAddress = { host: LOOPBACK, port: 0 };

  constructor(config: PodConfig) {
    const monotonic = (): number => performance.now();
    const { identity, behaviour } = config;
    this.#config = config;
    this.#sharedCpu = config.sharesCpu
      ? new SharedCpu(monotonic, (id, cpuMs) => send({ type: "work", id, cpuMs }))
      : null;
    this.#modelledCpu = behaviour.cpuKind === "modelled" ? new ModelledCpu(monotonic) : null;
    this.#application = new Application({
      workload: identity.workload,
      behaviour,
      outbound: () => this.#outboundAddress,
      cpu: this.#modelledCpu ?? this.#sharedCpu ?? new OwnCpu(monotonic),
      load: () => this.#modelledCpu,
      random: Math.random,
    });
    this.#sidecar = new Sidecar({
      config,
      application: () => this.#applicationAddress,
      monotonic,
      random: Math.random,
    });
  }

  async start(): Promise<void> {
    const { identity, port, metricsPort, usageIntervalMs, idleTimeoutMs } = this.#config;
    const { address } = identity;
    this.#applicationAddress = addressOf(await listen(this.#application.handle, LOOPBACK, 0, idleTimeoutMs));
    this.#outboundAddress = addressOf(await listen(this.#sidecar.outbound, LOOPBACK, 0, idleTimeoutMs));
    const inbound = await listen(this.#sidecar.inbound, address, port, idleTimeoutMs);
    const metrics = await listen(this.#servePage, address, metricsPort, idleTimeoutMs);
    send({ type: "listening", port: addressOf(inbound).port, metricsPort: addressOf(metrics).port });
    setInterval(
      () => send({ type: "usage", usage: this.#usage(), received: this.#application.received() }),
      usageIntervalMs,
    );
  }

  #usage(): Usage {
    return usage(this.#modelledCpu?.workedSeconds ?? 0);
  }

  handle(message: ToPod): void {
    if (message.type === "worked") this.#sharedCpu?.worked(message.id);
    else if (message.type === "routes") this.#sidecar.setRoutes(message.routes);
    else if (message.type === "page")
      send({ type: "page", id: message.id, text: this.#sidecar.metrics.render() });
    else if (message.type === "behaviour") this.#application.behave(message.behaviour);
    else if (message.type === "counts")
      send({ type: "counts", id: message.id, received: this.#application.received() });
    else if (message.type === "stop")
      send({ type: "final", usage: this.#usage(), received: this.#application.received() }, () =>
        process.exit(0),
      );
  }

  readonly #servePage: RequestListener = (incoming, outgoing) => {
    const path = (incoming.url ?? "").split("?")[0];
    if (path === SIDECAR_METRICS_PATH)
      outgoing
        .writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" })
        .end(this.#sidecar.metrics.render());
    else if (path === "/healthz/ready") outgoing.writeHead(200).end();
    else outgoing.writeHead(404).end();
  };
}

// The kubelet ends pods; Ctrl-C in a terminal reaches the whole process group.
process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit(0));

let pod: Pod | null = null;
process.on("message", (message: ToPod) => {
  if (message.type === "configure") begin(message.config);
  else pod?.handle(message);
});
process.on("SIGTERM", () => (pod === null ? process.exit(0) : pod.handle({ type: "stop" })));

function beNice(niceness: number | null): void {
  try {
    if (niceness !== null) setPriority(0, niceness);
  } catch {
    // Some systems forbid it; the pod then keeps its parent's priority.
  }
}

function begin(config: PodConfig): void {
  beNice(config.niceness);
  pod = new Pod(config);
  pod.start().catch((error: unknown) => {
    const reason = reasonOf(error);
    send({ type: "failed", reason }, () => process.exit(1));
  });
}
