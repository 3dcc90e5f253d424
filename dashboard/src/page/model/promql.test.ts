import { expect, test } from "vitest";
import { promqlOf } from "./promql.ts";

test("queries name the probes' own metrics", () => {
  expect(promqlOf("a", "b", "udp_rr", "p99")).toBe(
    'isochrone_rr_latency_quantile_seconds{source_node="a", destination_node="b", protocol="udp", quantile="0.99"}',
  );
  expect(promqlOf("a", "b", "icmp", "loss")).toBe(
    'isochrone_icmp_packet_loss_ratio{source_node="a", destination_node="b"}',
  );
});

test("a name can't end its string", () => {
  expect(promqlOf('x"} or vector(1) #', "b\\", "icmp", "loss")).toBe(
    String.raw`isochrone_icmp_packet_loss_ratio{source_node="x\"} or vector(1) #", destination_node="b\\"}`,
  );
});
