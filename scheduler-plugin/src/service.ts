import { createStrategy, DEFAULT_SPREAD } from "@isochrone/placement";
import { composeServices, periodic } from "@isochrone/runtime";
import type { ComposedService, Part, Periodic } from "@isochrone/runtime";
import { createHttpApp, listen, serverTlsOf } from "@isochrone/runtime/http";
import type { HttpApp, ListenAddress, Readiness, ServerTlsOptions } from "@isochrone/runtime/http";
import { checkAccess } from "./access.ts";
import { actingOf } from "./acts/acting.ts";
import { addDecisionRoutes } from "./adapters/decision-routes.ts";
import { addExtenderRoutes } from "./adapters/extender-routes.ts";
import { addManagedResourceRoute } from "./adapters/managed-resource-routes.ts";
import { demandOf, pollGraphs } from "./polled-graphs.ts";
import { createDecisionView } from "./create-decision-view.ts";
import { createAppGroupController } from "./appgroup/controller.ts";
import { ClusterPart } from "./cluster-part.ts";
import { createDeletionCosts } from "./deletion-costs/controller.ts";
import { createDispatch } from "./dispatch/controller.ts";
import type { Dispatch, DispatchDeps } from "./dispatch/controller.ts";
import { addReplicaRoutes } from "./dispatch/replicas/routes.ts";
import { ZoneWishes } from "./dispatch/replicas/zone-wishes.ts";
import { addDispatchRoute } from "./dispatch/routes.ts";
import { createDescheduler } from "./descheduler/descheduler.ts";
import type { Descheduler, DeschedulerDeps } from "./descheduler/descheduler.ts";
import { addDeschedulerRoute } from "./descheduler/routes.ts";
import { decisionIds } from "./domain/decision-ids.ts";
import { DecisionLog } from "./domain/decision-log.ts";
import { DecisionRecorder } from "./domain/decision-recorder.ts";
import type { DecisionView } from "./domain/decision-view.ts";
import { Ledger } from "./domain/ledger.ts";
import { PlanLog } from "./domain/plan-log.ts";
import { graphAgeSeconds } from "./domain/graph-age.ts";
import { Placer } from "./domain/placer.ts";
import { profileOf, recordedProfile } from "./domain/strategy-profile.ts";
import { createSchedulerMetrics } from "./adapters/metrics.ts";
import type { SchedulerMetrics } from "./adapters/metrics.ts";
import { planTools } from "./planner/plan-tools.ts";
import type { PlanTools } from "./planner/plan-tools.ts";
import { createPeers } from "./peers/create-peers.ts";
import type { PeerPart } from "./peers/create-peers.ts";
import { addPeerRoutes } from "./peers/routes.ts";
import { createPlanner } from "./planner/planner.ts";
import type { Planner, PlannerDeps } from "./planner/planner.ts";
import { costOf } from "./planner/objective.ts";
import { spreadLimits } from "./planner/spread.ts";
import type { GraphSource } from "./ports/ports.ts";
import { proposalsOf } from "./proposals/config.ts";
import { exclusionRulesOf } from "./proposals/exclusion-rules.ts";
import { Proposer, type ProposerDeps } from "./proposals/proposer.ts";
import type { SchedulerPluginDeps } from "./plugin-deps.ts";
import { createSavings } from "./savings/create-savings.ts";
import { addSavingsRoute } from "./savings/routes.ts";
import type { SavingsView } from "./savings/savings-view.ts";
import { createStreams, type Streams } from "./streams/controller.ts";
import { addStreamRoutes } from "./streams/routes.ts";
import { createWorkflowMetrics } from "./workflow-metrics.ts";
import type { SchedulerPluginConfig } from "./settings.ts";
import { leadershipOf } from "./leadership/terms.ts";
import { withCluster } from "./with-cluster.ts";
import { gateRulesOf, type GateRules } from "./webhook/gate-rules.ts";
import { createWebhook, type Webhook, type WebhookDeps } from "./webhook/webhook.ts";

export interface SchedulerPlugin extends ComposedService {
  readonly app: HttpApp;
  address(): ListenAddress;
  webhookAddress(): ListenAddress | null;
}

/** Composes the scheduler-plugin; `start` listens. Throws PlacementError for an invalid strategy. */
export function createSchedulerPlugin(
  config: SchedulerPluginConfig,
  deps: SchedulerPluginDeps,
): SchedulerPlugin {
  return new SchedulerService(config, deps);
}

class SchedulerService implements SchedulerPlugin {
  readonly #config: SchedulerPluginConfig;
  readonly #deps: SchedulerPluginDeps;
  readonly #tls: ServerTlsOptions | undefined;
  readonly #metrics: SchedulerMetrics;
  readonly #graphs: GraphSource;
  readonly #ledger: Ledger;
  readonly #cluster: ClusterPart | null;
  readonly #dispatch: Dispatch | null;
  readonly #webhook: Webhook | null;
  readonly #planner: Planner | null;
  readonly #descheduler: Descheduler | null;
  readonly #tools: PlanTools;
  readonly #proposer: Proposer | null;
  readonly #savings: SavingsView | null;
  readonly #streams: Streams | null;
  readonly #plans: PlanLog;
  readonly #peers: PeerPart | null;
  readonly #wishes = new ZoneWishes();
  readonly #decisions: DecisionLog;
  readonly #recorder: DecisionRecorder;
  readonly #placer: Placer;
  readonly #gauges: Periodic;
  readonly #service: ComposedService;
  #listening: { readonly app: HttpApp; readonly address: ListenAddress } | null = null;

  constructor(config: SchedulerPluginConfig, deps: SchedulerPluginDeps) {
    this.#config = config;
    this.#deps = deps;
    this.#tls = deps.tls ?? serverTlsOf(config, deps.clock);
    checkAccess(config, this.#tls, deps.logger);
    const metrics = createSchedulerMetrics(deps.registry);
    this.#metrics = metrics;
    const graphs = deps.graphs ?? pollGraphs(config, deps, metrics);
    const { store } = deps;
    // The cluster's observations replace decisions; until then only this replica knows a decision.
    this.#ledger = new Ledger(
      store === undefined ? config.ledgerMs : Math.min(config.ledgerMs, IN_FLIGHT_MS),
    );
    const ofCluster = store === undefined ? null : withCluster(config, { ...deps, store });
    this.#plans = new PlanLog(KEPT_PLANS, config.replicaName);
    const kept = {
      ledger: this.#ledger,
      decisions: new DecisionLog(config.keptDecisions, recordedProfile(config), config.replicaName),
      graphs,
    };
    this.#decisions = kept.decisions;
    this.#cluster = ofCluster && new ClusterPart(config, { ...ofCluster, ...kept, metrics });
    const recording = this.#cluster ?? {
      graphs,
      recorder: new DecisionRecorder({ ...kept, standingOf: null }),
    };
    this.#graphs = recording.graphs;
    this.#recorder = recording.recorder;
    createWorkflowMetrics(deps.registry, this.#graphs, config.bytesPerRequest);
    const url = (): string | null => this.#webhook?.url ?? null;
    const leadership = ofCluster && leadershipOf(config, { ...ofCluster, url });
    const ofLeader = ofCluster && { ...ofCluster, leadership: leadership! };
    this.#peers = createPeers(config, ofLeader, { ...kept, plans: this.#plans, tls: this.#tls });
    const appGroups = ofLeader && createAppGroupController(config, ofLeader);
    this.#dispatch = this.#createDispatch(ofLeader);
    this.#webhook = ofLeader && this.#createWebhook(ofLeader);
    const newId = decisionIds(deps.random);
    this.#tools = planTools(deps.clock, deps.planner);
    this.#planner = this.#createPlanner(ofLeader, newId);
    this.#descheduler = this.#createDescheduler(ofLeader, newId);
    this.#proposer = this.#createProposer(ofCluster, newId);
    this.#savings = ofCluster && createSavings(config, { ...ofCluster, ...kept, plans: this.#plans });
    this.#streams = createStreams({ ...ofLeader, graphs: this.#graphs, replica: config.replicaName, newId });
    this.#placer = new Placer({
      graphs: this.#graphs,
      strategy: createStrategy(profileOf(config)),
      usageHeadroom: config.usageHeadroom,
      ledger: this.#ledger,
      recorder: this.#recorder,
      newId,
      onDecision: ({ decidedBy, neutral }) => {
        metrics.decisions.inc({ decided_by: decidedBy });
        for (const { part } of neutral) metrics.neutralParts.inc({ part });
      },
    });
    this.#gauges = periodic({
      clock: deps.clock,
      intervalMs: GAUGE_INTERVAL_MS,
      immediate: true,
      run: () => this.#setGauges(),
      onError: (error) => deps.logger.error("gauges can't be set", { error }),
    });
    this.#service = composeServices([
      { name: "graphs", service: this.#graphs },
      { name: "pods", service: ofCluster?.pods ?? null },
      { name: "cluster", service: this.#cluster },
      { name: "election", service: leadership },
      { name: "other replicas", service: this.#peers },
      { name: "plan search", service: { stop: () => this.#tools.close() } },
      { name: "AppGroups", service: appGroups },
      { name: "planner", service: this.#planner },
      { name: "descheduler", service: this.#descheduler },
      { name: "proposals", service: this.#proposer },
      { name: "streams", service: this.#streams },
      { name: "dispatch", service: this.#dispatch },
      { name: "deletion costs", service: createDeletionCosts(config, ofLeader, this.#graphs) },
      { name: "webhook", service: this.#webhook },
      { name: "extender", service: this.#server() },
      { name: "gauges", service: this.#gauges },
    ]);
  }

  get app(): HttpApp {
    return this.#started().app;
  }

  address(): ListenAddress {
    return this.#started().address;
  }

  webhookAddress(): ListenAddress | null {
    return this.#webhook?.address ?? null;
  }

  get parts(): readonly Part[] {
    return this.#service.parts;
  }

  start(): Promise<void> {
    return this.#service.start();
  }

  stop(): Promise<void> {
    return this.#service.stop();
  }

  #server(): Part["service"] {
    const { host, port, urlPrefix: prefix } = this.#config;
    return {
      start: async () => {
        const app = await this.#createApp();
        const address = await listen(app, { host, port, setting: "scheduler.port" });
        this.#listening = { app, address };
        this.#deps.logger.info("extender listening", { url: address.url + prefix });
      },
      stop: () => this.#listening?.app.close(),
    };
  }

  #createWebhook(
    deps: SchedulerPluginDeps & Pick<WebhookDeps, "store" | "pods" | "leadership">,
  ): Webhook | null {
    if (deps.webhook === undefined) return null;
    const { replicaNamespace: namespace, canaryNamespace } = this.#config;
    const guard = this.#cluster?.guard ?? null;
    const slices = this.#dispatch?.slices ?? null;
    const ask: WebhookDeps["promise"] = (asked) => this.#planner?.promise(asked) ?? null;
    const promise = deps.planner?.enabled === true ? ask : null;
    return createWebhook(deps.webhook, { ...deps, namespace, canaryNamespace, guard, slices, promise });
  }

  #createDispatch(
    deps: (SchedulerPluginDeps & Pick<DispatchDeps, "store" | "pods" | "leadership">) | null,
  ): Dispatch | null {
    if (deps?.dispatch === undefined) return null;
    const { replicaName: replica } = this.#config;
    const readDemand = deps.readDemand ?? demandOf(this.#config, deps);
    const [graphs, wishes] = [this.#graphs, this.#wishes];
    const least = deps.planner ?? DEFAULT_SPREAD;
    return createDispatch(deps.dispatch, { ...deps, graphs, readDemand, replica, least, wishes });
  }

  #createPlanner(
    deps: (SchedulerPluginDeps & Pick<PlannerDeps, "store" | "pods" | "objects" | "leadership">) | null,
    newId: () => string,
  ): Planner | null {
    if (deps?.planner === undefined) return null;
    const { replicaNamespace: namespace, replicaName: replica, bytesPerRequest, podEvents } = this.#config;
    return createPlanner(deps.planner, {
      ...deps,
      newId,
      graphs: this.#graphs,
      ledger: this.#ledger,
      decisions: this.#decisions,
      plans: this.#plans,
      tools: this.#tools,
      isMoving: (controllerUid) => this.#descheduler?.isMoving(controllerUid) ?? false,
      wishes: this.#wishes,
      namespace,
      replica,
      bytesPerRequest,
      podEvents,
    });
  }

  #createProposer(
    deps: (SchedulerPluginDeps & Pick<ProposerDeps, "store" | "pods" | "objects">) | null,
    newId: () => string,
  ): Proposer | null {
    const config = deps?.proposals ?? proposalsOf(deps?.planner, deps?.descheduler);
    if (deps === null || config === null) return null;
    const { bytesPerRequest } = this.#config;
    const { search } = this.#tools;
    return new Proposer(config, {
      ...deps,
      graphs: this.#graphs,
      plans: this.#plans,
      leads: this.#peers?.isLeader ?? (() => true),
      newId,
      search,
      bytesPerRequest,
      rules: exclusionRulesOf(deps),
      gateRules: this.#gateRules(deps),
    });
  }

  #gateRules({ webhook }: SchedulerPluginDeps): GateRules | null {
    if (webhook?.enabled !== true) return null;
    const { replicaNamespace, canaryNamespace } = this.#config;
    return gateRulesOf(webhook, [replicaNamespace, canaryNamespace]);
  }

  #createDescheduler(
    deps: (SchedulerPluginDeps & Pick<DeschedulerDeps, "store" | "pods" | "objects" | "leadership">) | null,
    newId: () => string,
  ): Descheduler | null {
    if (deps?.descheduler === undefined) return null;
    const planner = this.#planner;
    const {
      replicaName: replica,
      replicaNamespace,
      bytesPerRequest,
      podEvents,
      usageHeadroom,
    } = this.#config;
    return createDescheduler(deps.descheduler, {
      ...deps,
      newId,
      graphs: this.#graphs,
      decisions: this.#decisions,
      webhook: this.#gateRules(deps),
      plannerTrouble: () => (planner === null ? "the planner is off (planner.enabled)" : planner.trouble()),
      namespace: replicaNamespace,
      replica,
      bytesPerRequest,
      // Without a planner nothing moves; reports use its defaults.
      spread: deps.planner === undefined ? DEFAULT_SPREAD : spreadLimits(deps.planner),
      cost: deps.planner === undefined ? undefined : costOf(deps.planner),
      // Its own strategy instance: the extender's remembers waiting pods.
      scoring: { strategy: createStrategy(profileOf(this.#config)), usageHeadroom },
      podEvents,
    });
  }

  async #createApp(): Promise<HttpApp> {
    const { urlPrefix: prefix, maxBodyBytes: bodyLimitBytes } = this.#config;
    const { clock, logger, registry } = this.#deps;
    const app = await createHttpApp({
      name: "scheduler",
      logger,
      registry,
      bodyLimitBytes,
      bodyBudgetBytes: BODIES_AT_ONCE * bodyLimitBytes,
      ready: () => this.#readiness(),
      tls: this.#tls,
      allowedHosts: { hosts: this.#config.allowedHosts, setting: "scheduler.allowedHosts" },
    });
    addExtenderRoutes(app, {
      prefix,
      placer: this.#placer,
      clock,
      metrics: this.#metrics,
    });
    const others = this.#peers;
    if (others !== null) addPeerRoutes(app, others);
    addSavingsRoute(app, this.#savings);
    const acting = actingOf(this.#deps, [this.#planner, this.#proposer, this.#descheduler]);
    addDecisionRoutes(app, { decisions: this.#decisionView(), plans: this.#plans, clock, others, acting });
    addDeschedulerRoute(app, this.#descheduler, this.#config.replicaName);
    addStreamRoutes(app, this.#streams);
    addReplicaRoutes(app, this.#dispatch?.replicas ?? null);
    addDispatchRoute(app, this.#dispatch);
    addManagedResourceRoute(app, this.#cluster?.guard ?? null);
    return app;
  }

  #decisionView(): DecisionView {
    const [decisions, graphs, ledger, pods] = [this.#decisions, this.#graphs, this.#ledger, this.#cluster];
    return createDecisionView(this.#config, { decisions, graphs, ledger, followsPods: pods !== null });
  }

  #readiness(): Readiness {
    const reasons: string[] = [];
    if (!this.#graphs.ready()) reasons.push("the graphs were not read yet");
    if (this.#cluster?.synced === false) reasons.push("the pods were not listed yet");
    return { ready: reasons.length === 0, reasons };
  }

  #setGauges(): void {
    const { clock } = this.#deps;
    const cluster = this.#graphs.cluster();
    if (cluster !== null)
      this.#metrics.graphAge.set({ graph: "cluster" }, graphAgeSeconds(cluster, clock.now()));
    this.#ledger.expire(clock.monotonic());
    this.#recorder.expire(clock.monotonic());
    this.#metrics.ledgerEntries.set(this.#ledger.size);
  }

  #started(): { readonly app: HttpApp; readonly address: ListenAddress } {
    if (this.#listening === null)
      throw new Error("the scheduler-plugin has no address before it was started");
    return this.#listening;
  }
}

/** Whole nodes of a large cluster in one request, from two kube-schedulers. More is a mistake or attack. */
const BODIES_AT_ONCE = 2;
const GAUGE_INTERVAL_MS = 5_000;
const KEPT_PLANS = 200;
/** A decision not seen by then wasn't carried out: kube-scheduler binds within milliseconds. */
const IN_FLIGHT_MS = 5_000;
