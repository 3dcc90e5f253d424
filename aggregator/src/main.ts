import { hostname } from "node:os";
import { openBus } from "@isochrone/bus/open";
import { busSettings } from "@isochrone/bus/settings";
import { createPage } from "@isochrone/dashboard";
import { accessSettings } from "@isochrone/kubernetes/access";
import { kubernetesSettings } from "@isochrone/kubernetes/api-server";
import { SettingsError } from "@isochrone/runtime";
import { serviceMain } from "@isochrone/runtime/main";
import { openCluster } from "./adapters/open-cluster.ts";
import { openOwnCertificates } from "./adapters/own-certificates.ts";
import { createAggregator } from "./aggregator.ts";
import { clusterControllerSections } from "./cluster-controllers.ts";
import { openAccess } from "./http/access.ts";
import { certificateSettings } from "./http/certificate-settings.ts";
import { configMapMistake } from "./network-topology/settings.ts";
import { foreignTopicsOf, proofsMistake } from "./record-keys/settings.ts";
import { aggregatorSettings } from "./settings.ts";
import { annotationSettings } from "./writers/settings.ts";

/** Without Kafka the bus only relays records to this process, so it needs little retention. */
const MEMORY = { partitions: 8, retentionRecords: 256, retentionBytes: 1024 * 1024 };

await serviceMain({
  name: "aggregator",
  section: aggregatorSettings,
  keepsMuch: true,
  shared: {
    bus: busSettings,
    kubernetes: kubernetesSettings,
    access: accessSettings,
    certificates: certificateSettings,
    annotations: annotationSettings,
    ...clusterControllerSections,
  },
  env: process.env,
  async create(config, surroundings, shared) {
    const mistake = proofsMistake({
      kind: shared.bus.kind,
      sealRecords: shared.bus.sealRecords,
      hasSecret: config.recordKeysSecret !== null,
      asksForTokens: shared.access.mode === "kubernetes",
    });
    const { latenciesFrom } = shared.networkTopology;
    const mistakes = [mistake, configMapMistake(latenciesFrom, shared.annotations.netperfConfigMap)];
    const found = mistakes.filter((one) => one !== null);
    if (found.length > 0) throw new SettingsError(found);
    const around = { ...surroundings, env: process.env };
    const { store, urgent, namespace, parts } = await openCluster(config.dumpFile, shared.kubernetes, around);
    const { host } = config;
    const gate = openAccess(shared.access, { ...surroundings, store: urgent, host });
    const certificates = openOwnCertificates(shared.certificates, {
      ...surroundings,
      store: urgent,
      certFile: config.tlsCertFile,
    });
    const isMetricsOpen = shared.access.openMetrics;
    const { bus, service } = await openBus(shared.bus, {
      ...surroundings,
      memory: MEMORY,
      windowMs: config.windowMs,
      foreignTopics: [...foreignTopicsOf(config).keys()],
    });
    const isShared = shared.bus.kind === "kafka";
    const access = { gate, isMetricsOpen };
    const page = createPage();
    const deps = {
      ...surroundings,
      bus,
      isShared,
      store,
      leaseStore: urgent ?? store,
      page,
      access,
      certificates,
      controllers: shared,
      machine: hostname(),
    };
    // Annotates a live cluster by default, but not a dump.
    const annotations = { ...shared.annotations, nodes: shared.annotations.nodes ?? urgent !== null };
    return [
      ...parts,
      { name: "own certificates", service: certificates },
      { name: "bus", service },
      {
        name: "aggregator",
        service: createAggregator({ ...config, replicaNamespace: namespace }, { ...deps, annotations }),
      },
    ];
  },
});
