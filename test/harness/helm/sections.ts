import {
  aggregatorSettings,
  accessSettings,
  annotationSettings,
  certificateSettings,
  clusterControllerSections,
} from "@isochrone/aggregator";
import { busSettings } from "@isochrone/bus/settings";
import { collectorSettings } from "@isochrone/collector";
import { flowsSettings } from "@isochrone/network-manager";
import { dispatcherSettings } from "@isochrone/dispatcher";
import { kubernetesSettings } from "@isochrone/kubernetes/api-server";
import { probeSettings } from "@isochrone/probe";
import { serviceSettings, type Section } from "@isochrone/runtime";
import {
  deschedulerSettings,
  dispatchSettings,
  extenderCertificateSettings,
  plannerSettings,
  schedulerPluginSettings,
  streamSettings,
  webhookSettings,
} from "@isochrone/scheduler-plugin";
export const SECTIONS: Readonly<Record<string, readonly Section[]>> = {
  probe: [serviceSettings, probeSettings, busSettings],
  collector: [serviceSettings, collectorSettings, kubernetesSettings, busSettings],
  "network-manager": [serviceSettings, flowsSettings, busSettings],
  dispatcher: [serviceSettings, dispatcherSettings, kubernetesSettings],
  aggregator: [
    serviceSettings,
    aggregatorSettings,
    busSettings,
    kubernetesSettings,
    accessSettings,
    certificateSettings,
    annotationSettings,
    ...Object.values(clusterControllerSections),
  ],
  "scheduler-plugin": [
    serviceSettings,
    schedulerPluginSettings,
    kubernetesSettings,
    webhookSettings,
    plannerSettings,
    deschedulerSettings,
    streamSettings,
    dispatchSettings,
    extenderCertificateSettings,
  ],
};
