// The services' settings as the embedded cluster wants them: shorter windows and a quicker beat than in a
// real cluster, everything on loopback. The environment still has the last word, except on what the
// composition itself decides (addresses, keys).
import { aggregatorSettings, annotationSettings, clusterControllerSections } from "@isochrone/aggregator";
import { collectorSettings } from "@isochrone/collector";
import { probeSettings } from "@isochrone/probe";
import { loadSettings } from "@isochrone/runtime";
import {
  deschedulerSettings,
  plannerSettings,
  schedulerPluginSettings,
  webhookSettings,
} from "@isochrone/scheduler-plugin";
import type { DeschedulerConfig, PlannerConfig, WebhookConfig } from "@isochrone/scheduler-plugin";
import type { EmbeddedOptions } from "./options.ts";

/** Panes of a window: a sample leaves within a fifteenth of it. */
const PANES = 15;

const LOOPBACK = "127.0.0.1";

type Env = Readonly<Record<string, string | undefined>>;

type ServiceOptions = Pick<EmbeddedOptions, "allowedHosts" | "env" | "movesPods" | "windowMs">;

/** The flag counts before the environment. */
function allowed({ allowedHosts }: ServiceOptions): { readonly allowedHosts?: readonly string[] } {
  return allowedHosts.length === 0 ? {} : { allowedHosts };
}

export function aggregatorConfig(options: ServiceOptions, port: number, decisionsUrl: string) {
  const { windowMs, env } = options;
  const paneMs = Math.max(100, Math.round(windowMs / PANES));
  const file = {
    aggregator: {
      windowMs: paneMs * PANES,
      paneMs,
      buildIntervalMs: Math.min(1_000, paneMs),
      maxFutureMs: Math.min(2_000, paneMs),
      counterLagMs: paneMs,
    },
  };
  return loadSettings([aggregatorSettings], {
    env,
    file,
    overrides: { aggregator: { host: LOOPBACK, port, decisionsUrl, ...allowed(options) } },
  }).aggregator;
}

/** Annotations and other objects on a real cluster, written sooner than by default. */
export function writingConfig({ windowMs, env }: EmbeddedOptions) {
  const file = { annotations: { nodes: true, warmUpMs: windowMs, minIntervalMs: 5_000 } };
  const sections = [annotationSettings, ...Object.values(clusterControllerSections)] as const;
  const { annotations, ...controllers } = loadSettings(sections, { env, file });
  return { annotations, controllers };
}

export function schedulerConfig(options: ServiceOptions, port: number, graphUrl: string) {
  // The embedded store keeps Events for ever; the decisions API says the same. All nodes are the same
  // machine, and what they have left differs by noise: normalising that would make it decide as often as the
  // network.
  const file = { scheduler: { refreshMs: 1_000, ledgerMs: 30_000, podEvents: false, gamma: 0.2 } };
  return loadSettings([schedulerPluginSettings], {
    env: options.env,
    file,
    overrides: { scheduler: { host: LOOPBACK, port, graphUrl, ...allowed(options) } },
  }).scheduler;
}

/** Certificates are trusted soon: the only API server that must know their authority is in this process. */
const TRUST_DELAY_MS = 1_000;
const CERTIFICATE_CHECK_MS = 500;
/** Webhook and planner live and die together here: on a busy machine a late sign of life says nothing. */
const BUSY_MS = 30_000;

/**
 * Configures webhook, planner and descheduler, which move pods. With a real cluster's API server there are no
 * webhook and no planner, and the descheduler is off unless the environment says otherwise. Times follow the
 * window, so that moves come within two windows of a change and are judged one window later.
 */
export function movingConfig(
  { windowMs, env, movesPods = true }: ServiceOptions,
  isReal: boolean,
  webhookPort: number,
): {
  readonly webhook?: WebhookConfig;
  readonly planner?: PlannerConfig;
  readonly descheduler: DeschedulerConfig;
} {
  if (isReal) return loadSettings([deschedulerSettings], { env });
  const paneMs = Math.round(windowMs / PANES);
  const file = {
    webhook: {
      enabled: true,
      trustDelayMs: TRUST_DELAY_MS,
      certificateCheckMs: CERTIFICATE_CHECK_MS,
      heartbeatMaxAgeMs: BUSY_MS,
    },
    planner: { enabled: true, graphWaitMs: BUSY_MS, deadlineMs: 2 * BUSY_MS },
    descheduler: {
      mode: movesPods ? "evict" : "dry-run",
      intervalMs: Math.max(1_000, paneMs),
      minPodAgeMs: windowMs,
      // Longer than a move takes to be judged, as by the services' defaults.
      coolDownMs: 2 * windowMs,
      // Windows are a tenth of a real cluster's: twice its evictions, of one workflow of 17 pods.
      maxEvictionsPerHour: 120,
      moveDeadlineMs: Math.max(10_000, 2 * windowMs),
      judgeAfterMs: windowMs,
      regretPauseMs: 12 * windowMs,
      // The sample's workloads have one replica each.
      allowSingleReplicas: true,
      // One node of eight may be down, and pods still move.
      maxUnreadyRatio: 0.2,
    },
  };
  const address = { host: LOOPBACK, port: webhookPort, url: `https://${LOOPBACK}:${webhookPort}` };
  return loadSettings([webhookSettings, plannerSettings, deschedulerSettings], {
    env,
    file,
    overrides: { webhook: address },
  });
}

/** Settings of one node's probe, without its addresses. */
interface ProbeSeat {
  readonly node: string;
  readonly zone: string;
  readonly region: string;
  readonly bindAddress: string;
  readonly identity: string;
  readonly hmacKeys: string;
  readonly aggregatorUrl: string;
}

export function probeConfigOf(
  { windowMs, env }: { readonly windowMs: number; readonly env: Env },
  seat: ProbeSeat,
) {
  const publishIntervalMs = Math.max(200, Math.round(windowMs / PANES / 2));
  const intervalMs = Math.min(500, publishIntervalMs);
  const probe = (publishedEveryMs: number) => ({
    probe: {
      // On loopback the kernel itself answers echoes and completes handshakes: both would miss the relay.
      // Bursts would fill it.
      methods: ["udp_rr", "tcp_rr"],
      bandwidth: false,
      intervalMs,
      timeoutMs: Math.min(1_000, 3 * publishIntervalMs),
      publishIntervalMs: publishedEveryMs,
      planRefreshMs: 1_000,
      responderPacketsPerSecond: 10_000,
      zeroCheckIntervalMs: 1_000,
    },
  });
  // The relay translates addresses as a NAT would; the ports are taken as free ones are found, so that
  // several clusters fit on a machine.
  const overrides = { probe: { ...seat, udpPort: 0, tcpPort: 0, httpPort: 0, acceptTranslatedSource: true } };
  const read = (publishedEveryMs: number) =>
    loadSettings([probeSettings], { env, file: probe(publishedEveryMs), overrides }).probe;
  // The environment may ask for a slower interval, and nothing can be published more often than that.
  return read(Math.max(publishIntervalMs, read(SLOWEST_MS).intervalMs));
}

/** Larger than any interval. */
const SLOWEST_MS = 86_400_000;

export function collectorConfig(
  { windowMs, env }: { readonly windowMs: number; readonly env: Env },
  node: string,
  aggregatorUrl: string,
) {
  const intervalMs = Math.max(200, Math.round(windowMs / PANES));
  const file = { collector: { intervalMs, timeoutMs: Math.max(100, Math.round(intervalMs * 0.75)) } };
  return loadSettings([collectorSettings], {
    env,
    file,
    overrides: { collector: { node, aggregatorUrl, host: LOOPBACK, port: 0 } },
  }).collector;
}
