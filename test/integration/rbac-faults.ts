export const RACES = "objects change while they are written";
export const OTHERS = "somebody else changes what is written";
export const UNASKED = "an AppGroup is no longer asked for";
/** A restarted scheduler-plugin waits until the previous Lease has expired. */
const KILLED = "the leader is killed";
export const LEAVING = "a replica leaves";
export const UNPLANNED = "a pod waits and nobody plans";
export const UNINSTALLED = "Isochrone is uninstalled";
export const SUBRESOURCE = "a definition with the subresource status";

export const FAULTS_ONLY: Readonly<Record<string, string>> = {
  "isochrone-aggregator get deployments.apps": RACES,
  "isochrone-aggregator get statefulsets.apps": RACES,
  "isochrone-aggregator get daemonsets.apps": RACES,
  "isochrone-aggregator create events.events.k8s.io": OTHERS,
  "isochrone-aggregator patch events.events.k8s.io": OTHERS,
  "isochrone-scheduler-plugin patch events.events.k8s.io": OTHERS,
  "isochrone-aggregator delete appgroups.appgroup.diktyo.x-k8s.io": UNASKED,
  "isochrone-aggregator delete leases.coordination.k8s.io in isochrone": LEAVING,
  "isochrone-scheduler-plugin list leases.coordination.k8s.io isochrone-scheduler-plugin in isochrone":
    KILLED,
  "isochrone-scheduler-plugin watch leases.coordination.k8s.io isochrone-scheduler-plugin in isochrone":
    KILLED,
  "isochrone-aggregator patch pods": UNPLANNED,
  "isochrone-uninstall list pods": UNINSTALLED,
  "isochrone-uninstall patch pods": UNINSTALLED,
  "isochrone-uninstall delete mutatingwebhookconfigurations.admissionregistration.k8s.io isochrone-placement":
    UNINSTALLED,
  "isochrone-uninstall delete secrets isochrone-webhook in isochrone": UNINSTALLED,
  "isochrone-uninstall patch leases.coordination.k8s.io isochrone-planner in isochrone": UNINSTALLED,
  "isochrone-uninstall create leases.coordination.k8s.io in isochrone": UNINSTALLED,
  "isochrone-scheduler-plugin patch appgroups/status.appgroup.diktyo.x-k8s.io": SUBRESOURCE,
};

/** Conflicts and repeated Events may happen without a fault. A scenario guarantees them. */
export const BY_CHANCE: ReadonlySet<string> = new Set([
  "isochrone-aggregator get deployments.apps",
  "isochrone-aggregator get statefulsets.apps",
  "isochrone-aggregator get daemonsets.apps",
  "isochrone-aggregator patch events.events.k8s.io",
  "isochrone-scheduler-plugin patch events.events.k8s.io",
]);
