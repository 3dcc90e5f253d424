import { Counter, Gauge, type Registry } from "prom-client";

export interface ConnectionMetrics {
  readonly state: Gauge<"state">;
  readonly tracked: Gauge<"counted">;
  readonly bytes: Counter;
  readonly leftOutBytes: Counter;
  readonly lostEnds: Counter;
  readonly overflows: Counter;
  readonly tableDrops: Counter<"reason">;
  readonly duplicates: Counter;
  readonly dropped: Counter<"reason">;
}

export function createConnectionMetrics(registry: Registry): ConnectionMetrics {
  const registers = [registry];
  return {
    state: new Gauge({
      name: "isochrone_collector_connections_state",
      help: "1 for the state that connection tracking is in, 0 for the others.",
      labelNames: ["state"],
      registers,
    }),
    tracked: new Gauge({
      name: "isochrone_collector_connections_tracked",
      help: "Connections in the kernel's table at the last dump, by whether it counts their bytes.",
      labelNames: ["counted"],
      registers,
    }),
    bytes: new Counter({
      name: "isochrone_collector_connections_bytes_total",
      help: "Bytes of tracked connections, without those of tunnels.",
      registers,
    }),
    leftOutBytes: new Counter({
      name: "isochrone_collector_connections_left_out_bytes_total",
      help: "Of these, bytes of pairs beyond those that a round may tell of.",
      registers,
    }),
    lostEnds: new Counter({
      name: "isochrone_collector_connections_lost_ends_total",
      help: "Connections that went without their last bytes.",
      registers,
    }),
    overflows: new Counter({
      name: "isochrone_collector_connections_overflows_total",
      help: "Ends of connections that the kernel dropped because they were not read in time.",
      registers,
    }),
    tableDrops: new Counter({
      name: "isochrone_collector_connections_table_drops_total",
      help: "What the kernel's table had no room for, by reason.",
      labelNames: ["reason"],
      registers,
    }),
    duplicates: new Counter({
      name: "isochrone_collector_connections_duplicates_total",
      help: "Entries of further zones that count the same packets.",
      registers,
    }),
    dropped: new Counter({
      name: "isochrone_collector_connections_records_dropped_total",
      help: "Records that the bus didn't take before the buffer was full, by reason.",
      labelNames: ["reason"],
      registers,
    }),
  };
}
