import type { Decision } from "@isochrone/topology";
import type { VNode } from "preact";
import { age, count, figure } from "../model/format.ts";
import { Card, Empty, Name, Tile, When } from "../parts/common.tsx";
import { linkTo } from "../state/store.ts";
import { workflowLink } from "../workflows/workflows.tsx";
import { headlineOf, whereOf } from "./compare.ts";
import { Figures, Nodes, Peers, Since } from "./then-and-now.tsx";
import { barsOf, partsOf } from "./parts.ts";
import { badgeOf, wordOf } from "./decision-words.ts";

const MOST_BARS = 60;

export function DecisionView({
  decision,
  back,
}: {
  readonly decision: Decision;
  readonly back: VNode;
}): VNode {
  const { pod, explanation } = decision;
  const { node } = whereOf(decision);
  return (
    <>
      <div class="page-head">
        {back}
        <h1>
          <Name>{pod.name}</Name>
          {node === null ? null : (
            <>
              {" "}
              <span aria-label="on">→</span> <Name>{node}</Name>
            </>
          )}
        </h1>
        <span class={`badge ${badgeOf(decision)}`}>{wordOf(decision)}</span>
      </div>
      <Where decision={decision} />
      <Figures decision={decision} />
      <Since decision={decision} />
      <Peers decision={decision} />
      <Nodes decision={decision} />
      <Card title="Why" class="why">
        <p class="lead">{explanation[0] ?? "No reason was given."}</p>
        <ul>
          {explanation.slice(1).map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      </Card>
      <Card title="How the scores were made">
        <details class="fold">
          <summary>Parts and raw sums, in the strategy's own units</summary>
          <Inputs decision={decision} />
          <Bars decision={decision} />
        </details>
      </Card>
    </>
  );
}

function Where({ decision }: { readonly decision: Decision }): VNode {
  const { pod, binding, outcome, plan, workflow, replica } = decision;
  const link = workflow === null ? null : workflowLink(workflow);
  const reason = binding?.reason ?? null;
  return (
    <Card title="Where it runs" class="why">
      <p class="headline">{headlineOf(decision)}</p>
      {reason === null ? null : <p>{reason}</p>}
      {outcome === undefined ? null : (
        <p>
          What became of it: {outcome.result.replaceAll("_", " ")}
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
        {workflow === null ? null : (
          <>
            {" "}
            of workflow{" "}
            {link === null ? (
              <Name>{workflow}</Name>
            ) : (
              <a href={link}>
                <Name>{workflow}</Name>
              </a>
            )}
          </>
        )}
        , decided <When at={decision.at} />
        {replica === undefined ? null : (
          <>
            {" "}
            by replica <Name>{replica}</Name>
          </>
        )}
        {plan === undefined || plan === null ? null : (
          <>
            , part of <a href={linkTo({ page: "decisions", kind: "plan", id: plan })}>a plan</a>
          </>
        )}
        .
      </p>
    </Card>
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
      <div class="scroll" tabIndex={0} role="region" aria-label="parts of the scores">
        <table class="bars" id="parts">
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
