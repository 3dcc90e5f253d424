import { REPLICA_SETTINGS } from "@isochrone/kubernetes";
import { text } from "@isochrone/runtime";

/** How replicas know each other and elect one. */
export const REPLICATION_SETTINGS = {
  ...REPLICA_SETTINGS,
  replicaUrl: text({
    default: null,
    pattern: /https?:\/\/\S+/,
    patternRule: "must be an http or https address",
    description:
      "Base address at which the other replicas reach this one, for what only the leader can answer. Without it: where it listens.",
  }),
};
