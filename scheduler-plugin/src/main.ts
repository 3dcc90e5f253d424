import { kubernetesSettings, openStore } from "@isochrone/kubernetes/api-server";
import { serviceMain } from "@isochrone/runtime/main";
import { openOwnCertificates } from "./certificates/own-certificates.ts";
import { extenderCertificateSettings } from "./certificates/settings.ts";
import { deschedulerSettings } from "./descheduler/decision/settings.ts";
import { dispatchSettings } from "./dispatch/settings.ts";
import { warnOfOpenAccess } from "./open-access.ts";
import { plannerSettings } from "./planner/settings.ts";
import { createSchedulerPlugin } from "./service.ts";
import { schedulerPluginSettings } from "./settings.ts";
import { streamSettings } from "./streams/settings.ts";
import { webhookSettings } from "./webhook/settings.ts";

await serviceMain({
  name: "scheduler-plugin",
  section: schedulerPluginSettings,
  shared: {
    kubernetes: kubernetesSettings,
    webhook: webhookSettings,
    planner: plannerSettings,
    descheduler: deschedulerSettings,
    streams: streamSettings,
    dispatch: dispatchSettings,
    extenderCertificates: extenderCertificateSettings,
  },
  env: process.env,
  async create(
    config,
    surroundings,
    { kubernetes, webhook, planner, descheduler, streams, dispatch, extenderCertificates },
  ) {
    const around = { ...surroundings, env: process.env, service: "scheduler-plugin" };
    const opened = await openStore(kubernetes, around);
    warnOfOpenAccess(config, opened !== null, surroundings.logger);
    const certificates = openOwnCertificates(extenderCertificates, {
      ...surroundings,
      store: opened?.store ?? null,
      certFile: config.tlsCertFile,
      asksClients: config.access !== "none",
    });
    if (opened === null) {
      surroundings.logger.warn(
        "no cluster: kubernetes.kubeconfig is not set and this is no pod, so pods are placed by the graphs alone, without bindings",
      );
      return [{ name: "scheduler-plugin", service: createSchedulerPlugin(config, surroundings) }];
    }
    const { store, urgent, namespace, part } = opened;
    // Its own connections: landing and informers must not delay each other.
    const { writesPerSecond: qps, concurrentWrites: maxConnections } = planner;
    const burst = Math.max(kubernetes.burst, Math.ceil(qps));
    const service = createSchedulerPlugin(
      { ...config, replicaNamespace: namespace },
      {
        ...surroundings,
        store,
        leaseStore: urgent,
        landingStore: store.lane({ qps, burst, maxConnections }),
        webhook,
        planner,
        descheduler,
        streams,
        dispatch,
        ...(certificates === null ? {} : { tls: certificates.tls }),
      },
    );
    return [part, { name: "own certificates", service: certificates }, { name: "scheduler-plugin", service }];
  },
});
