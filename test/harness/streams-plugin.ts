import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import { createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import {
  createSchedulerPlugin,
  deschedulerSettings,
  schedulerPluginSettings,
  streamSettings,
} from "@isochrone/scheduler-plugin";
import type { FlowPlan } from "@isochrone/topology";

export interface RunningStreams {
  readonly url: string;
  readonly logger: MemoryLogger;
  flowPlans(): Promise<Map<string, FlowPlan>>;
  confirm(nodes: Iterable<string>): Promise<void>;
  metrics(): Promise<string>;
  stop(): Promise<void>;
}

export interface StreamsOptions {
  readonly kubeconfig: string;
  readonly graphUrl: string;
  readonly streams?: Readonly<Record<string, unknown>>;
  readonly scheduler?: Readonly<Record<string, unknown>>;
  /** @default off */
  readonly descheduler?: Readonly<Record<string, unknown>>;
}

export async function startStreams(options: StreamsOptions): Promise<RunningStreams> {
  const { kubeconfig, graphUrl, streams = {}, scheduler = {}, descheduler = {} } = options;
  const config = loadSettings([schedulerPluginSettings, streamSettings, deschedulerSettings], {
    env: {},
    overrides: {
      scheduler: { port: 0, graphUrl, refreshMs: 100, replicaNamespace: "default", ...scheduler },
      streams: { enabled: true, ...streams },
      descheduler,
    },
  });
  const registry = createRegistry();
  const logger = new MemoryLogger();
  const surroundings = { clock: systemClock, random: systemRandom, logger };
  const store = createApiServerStore({ ...surroundings, credentials: { kubeconfig }, qps: 100, burst: 200 });
  const plugin = createSchedulerPlugin(config.scheduler, {
    ...surroundings,
    registry,
    store,
    streams: config.streams,
    descheduler: config.descheduler,
  });
  await plugin.start();
  const { url } = plugin.address();
  const flowPlans = async (): Promise<Map<string, FlowPlan>> => {
    const response = await fetch(`${url}/api/v1/flow-plans`);
    if (!response.ok) throw new Error(`flow plans: ${response.status} ${await response.text()}`);
    const { plans } = (await response.json()) as { plans: FlowPlan[] };
    return new Map(plans.map((plan) => [plan.node, plan]));
  };
  return {
    url,
    logger,
    flowPlans,
    confirm: async (nodes) => {
      const plans = await flowPlans();
      const applied = [...nodes].map((node) => {
        const { epoch, generation } = plans.get(node)!;
        return { node, epoch, generation };
      });
      const response = await fetch(`${url}/api/v1/flow-plans/applied`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ applied }),
      });
      if (response.status !== 204)
        throw new Error(`confirmation: ${response.status} ${await response.text()}`);
    },
    metrics: () => registry.metrics(),
    stop: async () => {
      await plugin.stop();
      store.close();
    },
  };
}
