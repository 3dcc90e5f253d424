import type { Decision } from "@isochrone/topology";
import type { VNode } from "preact";
import { age, bytesPerSecond, count, figure } from "../model/format.ts";
import type { Plan } from "../model/plan.ts";
import { Card, Empty, Name, Table, Tile, When } from "../parts/common.tsx";
import { linkTo } from "../store.ts";
import { onTheWay } from "../workflows/costs.ts";
import { workflowLink } from "../workflows/workflows.tsx";
import { barsOf, partsOf } from "./parts.ts";
import { wordOf } from "./stream.ts";

const MOST_BARS = 60;

/** Why a pod is where it is. */
export function DecisionView({
  decision,
  back,
}: {
  readonly decision: Decision;
  readonly back: VNode;
}): VNode {
  const { pod, best, explanation, outcome, plan } = decision;
  const link = decision.workflow === null ? null : workflowLink(decision.workflow);
  return (
    <>
      <div class="page-head">
        {back}
        <h1>
          <Name>{pod.name}</Name>
          {best === null ? null : (
            <>
              {" "}
              <span aria-label="to">→</span> <Name>{best}</Name>
            </>
          )}
        </h1>
        <span class={`badge ${wordOf(decision)}`}>{wordOf(decision)}</span>
      </div>
      <Card title="Why" class="why">
        <p class="lead">{explanation[0] ?? "No reason was given."}</p>
        <ul>
          {explanation.slice(1).map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
        {outcome === undefined ? null : (
          <p>
            What became of it: {outcome.result}
            {outcome.node === null ? (
              ""
            ) : (
              <>
                {" "}
                on <Name>{outcome.node}</Name>
              </>
            )}
            {outcome.reason === null ? "" : `, ${outcome.reason}`} (<When at={outcome.at} />
            ).
          </p>
        )}
        <p class="soft">
          Pod <Name>{`${pod.namespace}/${pod.name}`}</Name>
          {decision.workflow === null ? null : (
            <>
              {" "}
              of workflow{" "}
              {link === null ? (
                <Name>{decision.workflow}</Name>
              ) : (
                <a href={link}>
                  <Name>{decision.workflow}</Name>
                </a>
              )}
            </>
          )}
          , <When at={decision.at} />
          {plan === undefined || plan === null ? null : (
            <>
              , part of <a href={linkTo({ page: "decisions", kind: "plan", id: plan })}>a plan</a>
            </>
          )}
          .
        </p>
      </Card>
      <Inputs decision={decision} />
      <Card title="Candidates">
        <Bars decision={decision} />
      </Card>
    </>
  );
}

function Inputs({
  decision: { inputs, strategy, mode, candidates },
}: {
  readonly decision: Decision;
}): VNode {
  const feasible = candidates.filter((candidate) => candidate.feasible).length;
  const graph = (version: number | null, seconds: number | null) =>
    version === null
      ? { value: "not available", note: "its part was neutral", state: "warn" as const }
      : {
          value: `version ${version}`,
          note: (seconds ?? 1) < 1 ? "less than a second old" : `${age(seconds)} old`,
          ...((seconds ?? 0) > 60 ? { state: "warn" as const } : {}),
        };
  return (
    <dl class="tiles">
      <Tile label="Strategy" value={strategy} note={mode} />
      <Tile label="Cluster graph" {...graph(inputs.clusterVersion, inputs.clusterAgeSeconds)} />
      <Tile label="Workflow graph" {...graph(inputs.workflowVersion, inputs.workflowAgeSeconds)} />
      <Tile
        label="Nodes that could take it"
        value={count(feasible)}
        note={`of ${count(candidates.length)}`}
      />
    </dl>
  );
}

function Bars({ decision: { candidates } }: { readonly decision: Decision }): VNode {
  const parts = partsOf(candidates);
  const bars = barsOf(candidates);
  if (bars.length === 0) return <Empty title="No node was considered" />;
  return (
    <>
      <ul class="keys" aria-label="Parts">
        {parts.map((part, index) => (
          <li key={part}>
            <i class={`part part-${index % 5}`} /> {part}
          </li>
        ))}
        <li class="soft">
          Longer is better. Each part is compared among the candidates; its figure is in its own unit.
        </li>
      </ul>
      <div class="scroll" tabIndex={0} role="region" aria-label="candidates by score">
        <table class="bars" id="candidates">
          <thead>
            <tr>
              <th scope="col" class="text">
                Node
              </th>
              <th scope="col">Score</th>
              <th scope="col" class="text">
                Parts
              </th>
              {parts.map((part) => (
                <th key={part} scope="col">
                  {part}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {bars.slice(0, MOST_BARS).map(({ candidate, segments }) => (
              <tr key={candidate.name} class={candidate.feasible ? "" : "off"}>
                <td class="text">
                  <Name>{candidate.name}</Name>
                </td>
                <td>{candidate.feasible ? figure(candidate.score) : "–"}</td>
                <td class="text bar-cell">
                  {candidate.feasible ? (
                    <span class="bar">
                      {segments.map(({ part, share }) => (
                        <i
                          key={part}
                          class={`part part-${parts.indexOf(part) % 5}`}
                          style={{ width: `${(share * 100).toFixed(2)}%` }}
                        />
                      ))}
                    </span>
                  ) : (
                    <span class="soft">{candidate.reason ?? "not feasible"}</span>
                  )}
                </td>
                {parts.map((part) => (
                  <td key={part}>{figure(candidate.parts[part])}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {bars.length > MOST_BARS ? (
        <p class="soft">
          The best {MOST_BARS} of {count(bars.length)}.
        </p>
      ) : null}
    </>
  );
}

const underWay = (cost: number | null | undefined): string =>
  cost === null || cost === undefined ? "–" : bytesPerSecond(onTheWay(cost)).replace("B/s", "B");

/** Where a whole workflow would go at once. */
export function PlanView({ plan, back }: { readonly plan: Plan; readonly back: VNode }): VNode {
  const link = workflowLink(plan.workflow);
  return (
    <>
      <div class="page-head">
        {back}
        <h1>
          Plan for{" "}
          {link === null ? (
            <Name>{plan.workflow}</Name>
          ) : (
            <a href={link}>
              <Name>{plan.workflow}</Name>
            </a>
          )}
        </h1>
        <span class="badge plan">plan</span>
      </div>
      <Card title="Why" class="why">
        <p class="lead">{plan.explanation[0] ?? "No reason was given."}</p>
        <ul>
          {plan.explanation.slice(1).map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
        <p class="soft">
          <When at={plan.at} />
        </p>
      </Card>
      <dl class="tiles">
        <Tile label="Network cost" value={underWay(plan.cost?.network)} note="under way at any time" />
        <Tile label="Cost of load" value={underWay(plan.cost?.pressure)} note="in the same unit" />
        <Tile label="No plan costs less than" value={underWay(plan.lowerBound)} />
        <Tile
          label="Planned in"
          value={`${figure(plan.durationMs)} ms`}
          note={`${count(plan.pods.length)} pods`}
        />
      </dl>
      <Card title="Pods">
        <Table
          label="pods of the plan"
          columns={[
            { title: "Pod", isText: true },
            { title: "Workload", isText: true },
            { title: "Node", isText: true },
          ]}
          rows={plan.pods.map(({ name, workload, node, reason, decision }) => ({
            key: name,
            cells: [
              <a href={linkTo({ page: "decisions", kind: "decision", id: decision })}>
                <Name>{name}</Name>
              </a>,
              <Name>{workload ?? "–"}</Name>,
              node === null ? <span class="soft">{reason ?? "nowhere"}</span> : <Name>{node}</Name>,
            ],
          }))}
        />
      </Card>
    </>
  );
}
