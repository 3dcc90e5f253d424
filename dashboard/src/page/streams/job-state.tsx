import type { StreamJobView } from "@isochrone/topology";
import type { VNode } from "preact";
import { UNKNOWN } from "../model/format.ts";
import { Name } from "../parts/common.tsx";
import { linkTo } from "../state/store.ts";
import { limitOf, troubleOf } from "./streams-model.ts";

export function Phase({ job }: { readonly job: StreamJobView }): VNode {
  const state = troubleOf(job)?.state ?? (job.phase === "Running" ? "good" : "");
  return <span class={`badge ${state}`}>{job.phase?.toLowerCase() ?? "new"}</span>;
}

export function LimitOrReason({ job }: { readonly job: StreamJobView }): VNode {
  const limit = limitOf(job);
  const trouble = troubleOf(job);
  return (
    <>
      {limit === null ? null : limit.pair === null ? (
        <Name>{limit.words}</Name>
      ) : (
        <a href={linkTo({ page: "pair", source: limit.pair[0], target: limit.pair[1] })}>
          <Name>{limit.words}</Name>
        </a>
      )}
      {trouble === null ? null : <small class="soft note">{trouble.words}</small>}
      {limit === null && trouble === null ? UNKNOWN : null}
    </>
  );
}
