// All settings of all services, in the order of the documentation.
import {
  accessSettings,
  aggregatorSettings,
  annotationSettings,
  certificateSettings,
  clusterControllerSections,
} from "@isochrone/aggregator";
import { busSettings } from "@isochrone/bus/settings";
import { kubernetesSettings } from "@isochrone/kubernetes/api-server";
import { collectorSettings } from "@isochrone/collector";
import { dispatcherSettings } from "@isochrone/dispatcher";
import { flowsSettings } from "@isochrone/network-manager";
import { probeSettings } from "@isochrone/probe";
import { clientSettings, serviceSettings, type Section } from "@isochrone/runtime";
import {
  deschedulerSettings,
  dispatchSettings,
  extenderCertificateSettings,
  plannerSettings,
  schedulerPluginSettings,
  streamSettings,
  webhookSettings,
} from "@isochrone/scheduler-plugin";

export const SECTIONS: readonly Section[] = [
  serviceSettings,
  clientSettings,
  probeSettings,
  collectorSettings,
  flowsSettings,
  aggregatorSettings,
  annotationSettings,
  ...Object.values(clusterControllerSections),
  schedulerPluginSettings,
  webhookSettings,
  plannerSettings,
  deschedulerSettings,
  streamSettings,
  dispatchSettings,
  dispatcherSettings,
  accessSettings,
  certificateSettings,
  extenderCertificateSettings,
  kubernetesSettings,
  busSettings,
];
