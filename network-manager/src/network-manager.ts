import { BufferedPublisher, type Publisher } from "@isochrone/bus";
import {
  jsonFile,
  composeServices,
  periodic,
  type Clock,
  type ComposedService,
  type Logger,
  type Periodic,
  type Random,
} from "@isochrone/runtime";
import { listen, type HttpApp } from "@isochrone/runtime/http";
import { encodeMetrics, TOPICS } from "@isochrone/telemetry";
import type { FlowPlan } from "@isochrone/topology";
import type { Registry } from "prom-client";
import { FlowMeter, toFlowBatch } from "./domain/flow-meter.ts";
import { ManagerMetrics } from "./metrics.ts";
import { createPages } from "./pages.ts";
import { PlanKeeper } from "./plan-keeper.ts";
import type { KernelPort, NodeLock, PlanSource } from "./ports/ports.ts";
import { Reconciler, type Report } from "./reconciler.ts";
import type { FlowsConfig } from "./settings.ts";

const MAX_PLAN_BYTES = 16_777_216;

interface ManagerDeps {
  readonly bus: Publisher;
  readonly plans: PlanSource;
  readonly kernel: KernelPort;
  readonly lock: NodeLock;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

const CLOSE_DEADLINE_MS = 2_000;
/** Records cover ten seconds each; older ones than a window are worthless. */
const MAX_BUFFERED_RECORDS = 60;
/** Rates change within two seconds; unchanged answers are small. */
const PLAN_REFRESH_MS = 1_000;
/** Reverts foreign changes in the kernel. */
const CHECK_MS = 10_000;
/** Retries missing kernel features, which may be loaded later. */
const RETRY_MS = 300_000;
/** A pod has one address. */
const BIND_ADDRESS = "0.0.0.0";

/**
 * The network manager of one node. Its rules survive a stop for the next manager, unless the node has left
 * the cluster.
 */
interface NetworkManager extends ComposedService {
  readonly report: Report | null;
}

export function createNetworkManager(config: FlowsConfig, deps: ManagerDeps): NetworkManager {
  return new ManagerService(config, deps);
}

class ManagerService implements NetworkManager {
  readonly #config: FlowsConfig;
  readonly #deps: ManagerDeps;
  readonly #metrics: ManagerMetrics;
  readonly #keeper: PlanKeeper;
  readonly #reconciler: Reconciler;
  readonly #publisher: BufferedPublisher;
  readonly #meter = new FlowMeter();
  readonly #refresh: Periodic;
  readonly #check: Periodic;
  readonly #service: ComposedService;
  #app: HttpApp | null = null;
  #report: Report | null = null;
  #standing: FlowPlan | null = null;
  #followed: FlowPlan | null | "wait" | undefined;
  #observed: string | null = null;
  #askFromMs = Number.NEGATIVE_INFINITY;

  constructor(config: FlowsConfig, deps: ManagerDeps) {
    const { clock, random, lock, kernel, plans, registry } = deps;
    const logger = deps.logger.child({ node: config.node });
    this.#config = config;
    this.#deps = { ...deps, logger };
    this.#metrics = new ManagerMetrics(registry, config.mode);
    this.#keeper = new PlanKeeper({
      ...config,
      source: plans,
      standing: () => this.#standing,
      cache: jsonFile(config.planCachePath, MAX_PLAN_BYTES),
      clock,
      logger,
      onRefused: (reason) => this.#metrics.planRefused(reason),
      onUnreachable: () => this.#metrics.planUnreachable(),
    });
    this.#reconciler = new Reconciler({ mode: config.mode, retryMs: RETRY_MS, kernel, lock, clock, logger });
    this.#publisher = new BufferedPublisher({
      publisher: deps.bus,
      source: `network-manager/${config.node}`,
      clock,
      random,
      maxRecords: MAX_BUFFERED_RECORDS,
    });
    this.#refresh = periodic({
      clock,
      intervalMs: PLAN_REFRESH_MS,
      immediate: true,
      run: (signal) => this.#refreshOnce(signal),
      onError: (error) => logger.warnOnce("plan-refresh", "plan refresh failed", { error }),
    });
    this.#check = periodic({
      clock,
      intervalMs: config.checkMs ?? CHECK_MS,
      immediate: true,
      run: () => this.#reconcile(),
      onError: (error) => logger.error("kernel not brought to the plan", { error }),
    });
    this.#service = composeServices([
      { name: "publisher", service: { stop: () => this.#publisher.close(CLOSE_DEADLINE_MS) } },
      { name: "lock", service: { stop: () => lock.release() } },
      { name: "plan cache", service: { start: () => this.#keeper.restore() } },
      {
        name: "pages",
        service: config.httpPort > 0 ? { start: () => this.#listen(), stop: () => this.#app?.close() } : null,
      },
      { name: "kernel", service: this.#checkService() },
      {
        name: "plan refresh",
        service: { start: () => this.#refresh.start(), stop: () => this.#refresh.stop() },
      },
    ]);
  }

  get parts(): ComposedService["parts"] {
    return this.#service.parts;
  }

  get report(): Report | null {
    return this.#report;
  }

  start(): Promise<void> {
    return this.#service.start();
  }

  stop(): Promise<void> {
    return this.#service.stop();
  }

  #checkService(): { start(): void; stop(): Promise<void> } {
    return {
      start: () => this.#check.start(),
      stop: async () => {
        await this.#check.stop();
        await this.#leave();
      },
    };
  }

  /** Rules stay for the next manager, unless the node left the cluster. */
  async #leave(): Promise<void> {
    if (!(await this.#keeper.hasLeft())) return;
    const { changes, pending } = await this.#reconciler.run(null);
    this.#deps.logger.info("the node has left, rules taken back", { changes, left: pending });
  }

  async #refreshOnce(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    if (clock.monotonic() >= this.#askFromMs)
      this.#askFromMs = clock.monotonic() + (await this.#keeper.refresh(signal));
    this.#metrics.planAge(this.#keeper.ageSeconds);
    const isLeaving = this.#report?.isLeaving === true;
    if (isLeaving || this.#keeper.wanted() !== this.#followed) this.#check.trigger();
  }

  async #reconcile(): Promise<void> {
    const plan = this.#keeper.wanted();
    const report = await this.#reconciler.run(plan);
    this.#followed = plan;
    this.#report = report;
    this.#standing = plan === "wait" || report.mode === "observe" || report.pending > 0 ? null : plan;
    this.#metrics.report(report);
    this.#tell(report);
    if (report.kernel === null) return;
    const reading = this.#meter.take(report.flows, report.kernel, {
      nowMs: this.#deps.clock.now(),
      monotonicMs: this.#deps.clock.monotonic(),
    });
    if (reading === null || reading.flows.length === 0) return;
    this.#metrics.reading(reading);
    const { node } = this.#config;
    this.#publisher.offer(TOPICS.traffic, node, encodeMetrics(toFlowBatch(node, reading)));
  }

  #tell({ mode, reason, flows, pending }: Report): void {
    const { logger } = this.#deps;
    if (reason !== null) logger.warnOnce(`reason:${reason}`, "observing only", { reason });
    const observed = mode === "observe" ? `${flows.length} ${pending}` : null;
    if (observed !== null && flows.length > 0 && observed !== this.#observed)
      logger.info("observed", { flows: flows.length, changesThatGuaranteeWouldMake: pending });
    this.#observed = observed;
    for (const { flow, unmet } of flows)
      if (unmet !== null)
        logger.warnOnce(`unmet:${unmet.reason}`, "flow not as planned", { flow: flow.id, ...unmet });
  }

  #ready(): { ready: boolean; reasons: string[] } {
    const reasons = this.#report === null ? ["the kernel has not been looked at yet"] : [];
    return { ready: reasons.length === 0, reasons };
  }

  async #listen(): Promise<void> {
    const { logger, registry } = this.#deps;
    const { node, httpPort } = this.#config;
    this.#app = await createPages({
      node,
      logger,
      registry,
      ready: () => this.#ready(),
      status: () => ({
        report: this.#report,
        plan: this.#keeper.wanted(),
        planAgeSeconds: this.#keeper.ageSeconds,
      }),
    });
    await listen(this.#app, { host: BIND_ADDRESS, port: httpPort, setting: "flows.httpPort" });
  }
}
