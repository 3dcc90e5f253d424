import { dispatchRow } from "./dispatch.ts";
import type { Dashboard } from "./grafana.ts";

const rate = (metric: string, by: string): string => `sum by (${by}) (rate(${metric}[$__rate_interval]))`;
const quantile = (q: number, histogram: string, by = "le"): string =>
  // NaN without observations, which would hide missing data.
  `histogram_quantile(${q}, sum by (${by}) (rate(${histogram}_bucket[$__rate_interval]))) >= 0`;

export const decisions: Dashboard = {
  uid: "isochrone-decisions",
  title: "Isochrone / Decisions",
  description:
    "Placements, plans, moves and the spreading of requests: how many, how fast, by what they were decided, and what became of them.",
  variables: [],
  rows: [
    {
      title: "Extender",
      panels: [
        {
          title: "Decisions",
          description: "Scored pods, last hour.",
          kind: "stat",
          unit: "short",
          width: 6,
          queries: [{ expr: "sum(increase(isochrone_scheduler_decisions_total[1h]))" }],
        },
        {
          title: "Answer, p99",
          description: "Time of prioritize: it is throughput of the scheduling loop.",
          kind: "stat",
          unit: "s",
          width: 6,
          needs: "extender",
          thresholds: [0.01, 0.05],
          queries: [
            {
              expr: 'histogram_quantile(0.99, sum by (le) (rate(isochrone_scheduler_request_seconds_bucket{verb="prioritize"}[10m]))) >= 0',
            },
          ],
        },
        {
          title: "Age of the graph",
          description: "Beyond three windows it isn't used, and scores are neutral.",
          kind: "stat",
          unit: "s",
          width: 6,
          thresholds: [60, 300],
          queries: [{ expr: "max(isochrone_scheduler_graph_age_seconds)" }],
        },
        {
          title: "Pods ahead of the graphs",
          description: "Placed, but not yet shown by the graphs: the ledger counts their load.",
          kind: "stat",
          unit: "short",
          width: 6,
          queries: [{ expr: "max(isochrone_scheduler_ledger_entries)" }],
        },
        {
          title: "Requests",
          description:
            "By verb and outcome. `neutral`: nothing to go by; `not_ours`: pods without a workflow.",
          kind: "timeseries",
          unit: "reqps",
          width: 12,
          queries: [
            {
              expr: rate("isochrone_scheduler_requests_total", "verb, outcome"),
              legend: "{{verb}} {{outcome}}",
            },
          ],
        },
        {
          title: "Time to answer",
          description: "From a parsed request to its answer.",
          kind: "timeseries",
          unit: "s",
          width: 12,
          log: true,
          needs: "extender",
          queries: [
            {
              expr: quantile(0.5, "isochrone_scheduler_request_seconds", "verb, le"),
              legend: "{{verb}} p50",
            },
            {
              expr: quantile(0.99, "isochrone_scheduler_request_seconds", "verb, le"),
              legend: "{{verb}} p99",
            },
          ],
        },
        {
          title: "What decided",
          description: "The part of the score that told the best node from the others; `none`: nothing did.",
          kind: "timeseries",
          unit: "short",
          width: 12,
          queries: [
            {
              expr: "sum by (decided_by) (increase(isochrone_scheduler_decisions_total[5m]))",
              legend: "{{decided_by}}",
            },
          ],
        },
        {
          title: "Parts that took no side",
          description: "For want of fresh or complete input. Much of it: look at Health.",
          kind: "timeseries",
          unit: "short",
          width: 12,
          queries: [
            {
              expr: "sum by (part) (increase(isochrone_scheduler_neutral_parts_total[5m])) or vector(0)",
              legend: "{{part}}",
            },
          ],
        },
      ],
    },
    {
      title: "Planner",
      collapsed: true,
      panels: [
        {
          title: "Waiting pods",
          description: "Gated and waiting for the planner alone, and released but not bound.",
          kind: "timeseries",
          unit: "short",
          width: 8,
          needs: "planner",
          queries: [
            { expr: "sum(isochrone_planner_gated_pods)", legend: "gated" },
            { expr: "sum(isochrone_planner_awaited_pods)", legend: "released" },
          ],
        },
        {
          title: "Landings",
          description:
            "What became of planned pods. `elsewhere`: kube-scheduler chose another node; the decision says why.",
          kind: "timeseries",
          unit: "short",
          width: 8,
          needs: "planner",
          queries: [
            {
              expr: "sum by (outcome) (increase(isochrone_planner_landings_total[5m]))",
              legend: "{{outcome}}",
            },
          ],
        },
        {
          title: "Time behind our gate",
          description: "From first seen until open.",
          kind: "timeseries",
          unit: "s",
          width: 8,
          needs: "planner",
          queries: [
            { expr: quantile(0.5, "isochrone_planner_gated_seconds"), legend: "p50" },
            { expr: quantile(0.99, "isochrone_planner_gated_seconds"), legend: "p99" },
          ],
        },
        {
          title: "Plans",
          description: "By outcome.",
          kind: "timeseries",
          unit: "short",
          width: 8,
          needs: "planner",
          queries: [
            { expr: "sum by (outcome) (increase(isochrone_planner_plans_total[5m]))", legend: "{{outcome}}" },
          ],
        },
        {
          title: "Gap to the lower bound",
          description: "At most so much of a plan's cost could still be saved.",
          kind: "timeseries",
          unit: "percentunit",
          width: 8,
          needs: "planner",
          queries: [
            { expr: quantile(0.5, "isochrone_planner_plan_gap_ratio"), legend: "p50" },
            { expr: quantile(0.9, "isochrone_planner_plan_gap_ratio"), legend: "p90" },
          ],
        },
        {
          title: "Released without a plan",
          description: "By reason: each of them was scheduled as if the planner weren't there.",
          kind: "timeseries",
          unit: "short",
          width: 8,
          needs: "planner",
          queries: [
            {
              expr: "sum by (reason) (increase(isochrone_planner_unplanned_total[5m]))",
              legend: "{{reason}}",
            },
          ],
        },
        {
          title: "New pods by the webhook",
          description: "What it did with them, and why not.",
          kind: "timeseries",
          unit: "short",
          width: 12,
          needs: "webhook",
          queries: [
            { expr: "sum by (outcome) (increase(isochrone_webhook_pods_total[5m]))", legend: "{{outcome}}" },
          ],
        },
        {
          title: "Gates past their deadline",
          description: "Opened by the aggregator because nobody else did: the planner was away.",
          kind: "timeseries",
          unit: "short",
          width: 12,
          needs: "gates",
          queries: [
            { expr: "sum by (result) (increase(isochrone_gates_opened_total[5m]))", legend: "{{result}}" },
            { expr: "max(isochrone_gates_longest_wait_seconds)", legend: "longest wait, s" },
          ],
        },
      ],
    },
    {
      title: "Descheduler",
      collapsed: true,
      panels: [
        {
          title: "Moves",
          description: "What became of moves. Every outcome but on_target is a failed move.",
          kind: "timeseries",
          unit: "short",
          width: 8,
          needs: "descheduler",
          queries: [
            {
              expr: "sum by (outcome) (increase(isochrone_descheduler_moves_total[10m]))",
              legend: "{{outcome}}",
            },
            { expr: "sum(increase(isochrone_descheduler_moves_proposed_total[10m]))", legend: "proposed" },
          ],
        },
        {
          title: "Regret",
          description:
            "Share of the expected gain that did not come. At 1 moves gained nothing; it stops by itself.",
          kind: "timeseries",
          unit: "percentunit",
          width: 8,
          thresholds: [0.5, 1],
          needs: "descheduler",
          queries: [
            { expr: "max(isochrone_descheduler_regret)", legend: "regret" },
            { expr: "max(isochrone_descheduler_stopped)", legend: "stopped" },
          ],
        },
        {
          title: "Pods left where they are",
          description: "By reason, in the last run.",
          kind: "bargauge",
          unit: "short",
          width: 8,
          needs: "descheduler",
          queries: [
            { expr: "max by (reason) (isochrone_descheduler_pods_skipped) > 0", legend: "{{reason}}" },
          ],
        },
      ],
    },
    dispatchRow,
  ],
};
