// The webhook as a part of the scheduler-plugin. Watches all it needs, so that answers never wait.
import {
  CertificateKeeper,
  createInformer,
  KINDS,
  LABELS,
  leaderStore,
  PLANNER_LEASE,
  StoreError,
  trustedBy,
  WEBHOOK_SECRET,
} from "@isochrone/kubernetes";
import { looseText } from "@isochrone/primitives";
import type { ClusterStore, Informer, KindRef, Membership, SharedLeadership } from "@isochrone/kubernetes";
import { periodic } from "@isochrone/runtime";
import type { Clock, Logger, Part, Periodic, Random } from "@isochrone/runtime";
import type { ListenAddress } from "@isochrone/runtime/http";
import type { Registry } from "prom-client";
import type { PodChanges } from "../adapters/cluster-pods.ts";
import type { Injectable } from "../domain/canary-record.ts";
import { SCHEDULER_LEASE } from "../leadership/terms.ts";
import { Admission } from "./admission.ts";
import type { AdmissionSurroundings, SlicePatches } from "./admission.ts";
import type { FaultyReview } from "./admission-review.ts";
import type { GateRules, ReviewPath } from "./gate-rules.ts";
import { Heartbeat } from "./heartbeat.ts";
import { reachableUrl } from "./leader-address.ts";
import { LeaderForwarding } from "./leader-forwarding.ts";
import { createWebhookMetrics } from "./metrics.ts";
import type { WebhookMetrics } from "./metrics.ts";
import { isTrusted, register } from "./registration.ts";
import type { RegistrationOptions } from "./registration.ts";
import { GroupReplicas } from "./replicas.ts";
import { WebhookServer } from "./server.ts";
import type { WebhookConfig } from "./settings.ts";
import { UnansweredPods } from "./unanswered-pods.ts";

/** Port of the chart's Service. */
const SERVICE_PORT = 443;

export interface WebhookDeps {
  readonly store: ClusterStore;
  readonly pods: PodChanges;
  readonly guard: { readonly resource: string; state(): Injectable } | null;
  readonly slices: SlicePatches | null;
  readonly promise: AdmissionSurroundings["promise"] | null;
  readonly leadership: SharedLeadership;
  readonly namespace: string;
  readonly canaryNamespace: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

export interface Webhook {
  readonly parts: readonly Part[];
  readonly address: ListenAddress | null;
  readonly url: string | null;
}

export function createWebhook(config: WebhookConfig, deps: WebhookDeps): Webhook | null {
  return config.enabled ? new RunningWebhook(config, deps) : null;
}

class RunningWebhook implements Webhook {
  readonly #config: WebhookConfig;
  readonly #deps: WebhookDeps;
  readonly #metrics: WebhookMetrics;
  readonly #heartbeat: Heartbeat;
  readonly #replicas = new GroupReplicas();
  readonly #server: WebhookServer;
  readonly #admission: Admission;
  readonly #forwarding: LeaderForwarding;
  readonly #leadership: Membership;
  readonly #checks: Periodic;
  readonly #stopping = new AbortController();
  #trusted: string | null = null;
  #appGroups: Informer | null = null;
  #namespaces: Informer | null = null;

  constructor(config: WebhookConfig, deps: WebhookDeps) {
    this.#config = config;
    this.#deps = deps;
    const { store, namespace, clock, random, logger, registry } = deps;
    this.#metrics = createWebhookMetrics(registry, () => (this.#heartbeat.ageMs() ?? Number.NaN) / 1000);
    this.#heartbeat = new Heartbeat({
      store,
      namespace,
      maxAgeMs: config.heartbeatMaxAgeMs,
      checkMs: config.heartbeatCheckMs,
      clock,
      random,
      logger,
      onFailure: (reason) => this.#metrics.failed("heartbeat", reason),
    });
    this.#admission = this.#createAdmission();
    this.#forwarding = new LeaderForwarding({
      leader: () => deps.leadership.leaderUrl(),
      trusted: () => this.#trusted,
      serverName: this.#hosts()[0]!,
      monotonicMs: () => clock.monotonic(),
    });
    this.#server = new WebhookServer({
      ...config,
      answer: (entry, body, isForwarded) => this.#answer(entry, body, isForwarded),
      onFault: (reason) => this.#metrics.fault(reason),
      onError: (error) => logger.warnOnce("webhook", "a review could not be judged", { error }),
      onAnswer: (seconds) => this.#metrics.seconds.observe(seconds),
      monotonicMs: () => clock.monotonic(),
    });
    // A new leader checks at once; a former one has nothing to stop.
    this.#leadership = deps.leadership.join({
      onStartedLeading: () => this.#checks.trigger(),
      onStoppedLeading: () => undefined,
    });
    const keeper = this.#createKeeper();
    this.#checks = periodic({
      clock,
      intervalMs: config.certificateCheckMs,
      immediate: true,
      run: () => keeper.check(),
      onError: (error) => {
        this.#metrics.failed("certificates", error instanceof StoreError ? error.code : "other");
        logger.warnOnce(
          "webhook-certificates",
          "the webhook's certificates can't be maintained, trying again",
          {
            error,
          },
        );
      },
    });
  }

  get address(): ListenAddress | null {
    return this.#server.address;
  }

  get url(): string | null {
    return this.address && reachableUrl(this.address);
  }

  get parts(): readonly Part[] {
    const { store, clock, random, logger } = this.#deps;
    const informer = (kind: KindRef): Informer => createInformer({ store, kind, clock, random, logger });
    const followGroups = (): void => void (this.#appGroups = informer(KINDS.appGroup));
    const followNamespaces = (): void => void (this.#namespaces = informer(KINDS.namespace));
    return [
      {
        name: "AppGroups",
        service: { start: followGroups, stop: async () => await this.#appGroups?.stop() },
      },
      {
        name: "namespaces",
        service: { start: followNamespaces, stop: async () => await this.#namespaces?.stop() },
      },
      { name: "heartbeat", service: this.#heartbeat },
      { name: "forwarding", service: { stop: () => this.#forwarding.close() } },
      { name: "server", service: { stop: () => this.#server.close() } },
      { name: "leadership", service: this.#leadership },
      { name: "certificates", service: this.#checks },
      { name: "pods", service: { start: () => this.#followPods(), stop: () => this.#stopping.abort() } },
    ];
  }

  /** Forwards to the leader; answers locally if this replica leads or the leader is too slow. */
  async #answer(entry: ReviewPath, body: string, isForwarded: boolean): Promise<string | FaultyReview> {
    const mayAsk = this.#deps.promise !== null && !isForwarded && entry !== "endpoint-slices";
    const said = mayAsk && this.#heartbeat.isAlive() ? await this.#forwarding.ask(entry, body) : null;
    return said ?? this.#admission.answer(entry, body);
  }

  #followPods(): void {
    this.#deps.pods.onChange((change) => this.#replicas.take(change));
    void this.#countUnanswered(this.#namespaces!).catch(() => undefined);
  }

  /** Waits until opted-in namespaces are known. Rejects if stopped before. */
  async #countUnanswered(namespaces: Informer): Promise<void> {
    const { pods, logger } = this.#deps;
    const { signal } = this.#stopping;
    const sinceMs = await this.#lastSignOfLifeMs();
    await namespaces.synced(signal);
    const unanswered = new UnansweredPods({
      rules: this.#rules(),
      sinceMs,
      surroundings: ({ metadata: { namespace = "default", labels } }) => {
        const group = labels?.[LABELS.appGroup];
        const appGroup = group === undefined ? null : (this.#appGroups?.get(group, namespace) ?? null);
        return { namespace: namespaces.get(namespace), appGroup };
      },
      isRemoved: () => this.#heartbeat.isRemoved(),
      onUnanswered: ({ metadata: { namespace, name } }) => {
        this.#metrics.unanswered.inc();
        logger.warnOnce(
          "webhook-unanswered",
          "pods were created without the webhook's answer, and without the gate",
          {
            pod: `${namespace}/${name}`,
          },
        );
      },
    });
    const stop = pods.onChange((change) => unanswered.take(change));
    signal.addEventListener("abort", stop, { once: true });
  }

  /** When the planner was last alive, by its clock: this replica counts what came later, while none ran. */
  async #lastSignOfLifeMs(): Promise<number> {
    const { store, namespace, clock } = this.#deps;
    const lease = await store.get({ ...KINDS.lease, namespace, name: PLANNER_LEASE }).catch(() => null);
    const renewedMs = Date.parse(looseText(lease?.spec?.renewTime));
    return Number.isNaN(renewedMs) ? clock.now() : Math.min(renewedMs, clock.now());
  }

  #rules(): GateRules {
    return {
      schedulerNames: new Set(this.#config.schedulerNames),
      excludedNamespaces: new Set(this.#excludedNamespaces()),
    };
  }

  #createAdmission(): Admission {
    const { guard } = this.#deps;
    return new Admission({
      rules: this.#rules(),
      isPlannerAlive: () => this.#heartbeat.isAlive(),
      appGroup: (namespace, name) => this.#appGroups?.get(name, namespace) ?? null,
      replicasOf: (namespace, group) => (selector) => this.#replicas.of(namespace, group, selector),
      injectable: () => (guard?.state().injectable === true ? guard.resource : null),
      metrics: this.#metrics,
      slices: this.#deps.slices,
      promise: this.#deps.promise ?? (() => null),
    });
  }

  #createKeeper(): CertificateKeeper {
    const { store, namespace, clock, logger } = this.#deps;
    const leadership = this.#leadership;
    const writeStore = leaderStore(store, leadership, SCHEDULER_LEASE);
    return new CertificateKeeper({
      name: "webhook",
      store,
      writeStore,
      // Don't recreate a webhook that was removed on purpose.
      mayWrite: () => leadership.isLeader() && !this.#heartbeat.isRemoved(),
      namespace,
      secretName: WEBHOOK_SECRET,
      rules: { ...this.#config, hosts: this.#hosts() },
      clockSkewMs: this.#config.clockSkewMs,
      trustDelayMs: this.#config.trustDelayMs,
      publication: {
        publish: (trusted) => register(writeStore, this.#registration(), trusted),
        holds: (authority) => isTrusted(writeStore, authority),
      },
      onServing: async (bundle) => {
        const before = this.#server.address;
        this.#trusted = trustedBy(bundle);
        await this.#server.serveWith(bundle.serving);
        if (before === null) logger.info("webhook listening", { url: this.#server.address?.url });
      },
      clock,
      logger,
      events: this.#metrics.certificates,
    });
  }

  #registration(): RegistrationOptions {
    const { url, serviceName: name, ...rest } = this.#config;
    const { namespace } = this.#deps;
    return {
      target: url === null ? { service: { namespace, name, port: SERVICE_PORT } } : { url },
      ...rest,
      excludedNamespaces: this.#excludedNamespaces(),
      endpointSlices: this.#deps.slices !== null,
    };
  }

  #hosts(): string[] {
    const { url, serviceName } = this.#config;
    if (url !== null) return [new URL(url).hostname.replace(/^\[|\]$/g, "")];
    const name = `${serviceName}.${this.#deps.namespace}.svc`;
    return [name, `${name}.cluster.local`];
  }

  #excludedNamespaces(): string[] {
    const { namespace, canaryNamespace } = this.#deps;
    return [
      ...new Set(["kube-system", namespace, canaryNamespace, ...this.#config.excludedNamespaces]),
    ].sort();
  }
}
