import type { StreamLinkView } from "@isochrone/topology";
import type { VNode } from "preact";
import { Name, Table } from "../parts/common.tsx";
import { bitsPerSecond, percent, plural, UNKNOWN } from "../model/format.ts";
import { linkTo } from "../state/store.ts";
import { useOf } from "./streams-model.ts";

const NAMED = 4;
const MOST = 200;

export function Links({ links }: { readonly links: readonly StreamLinkView[] }): VNode {
  return (
    <Table
      id="stream-links"
      label="links with planned flows, the fullest first"
      columns={[
        { title: "Link", isText: true },
        { title: "Use", isText: true },
        { title: "Planned" },
        { title: "Sent" },
        { title: "Capacity" },
        { title: "Flows", isText: true },
      ]}
      rows={links.slice(0, MOST).map((link) => ({
        key: `${link.source} ${link.target}`,
        cells: [
          <a href={linkTo({ page: "pair", source: link.source, target: link.target })}>
            <Name>{`${link.source} → ${link.target}`}</Name>
          </a>,
          <Bar link={link} />,
          bitsPerSecond(link.plannedBitsPerSecond),
          bitsPerSecond(link.sentBitsPerSecond),
          bitsPerSecond(link.capacityBitsPerSecond),
          <Flows link={link} />,
        ],
      }))}
    />
  );
}

function Bar({ link }: { readonly link: StreamLinkView }): VNode | string {
  const use = useOf(link);
  if (use === null) return UNKNOWN;
  const { planned, sent } = use;
  const width = (part: number): string => `${Math.min(100, 100 * part)}%`;
  return (
    <span class="use" title={`${percent(planned)} planned, ${percent(sent)} sent`}>
      <i class="use-bar">
        <i class="use-planned" style={{ width: width(planned) }} />
        {sent === null ? null : <i class="use-sent" style={{ left: width(sent) }} />}
      </i>
      {percent(planned)}
    </span>
  );
}

function Flows({ link: { flows } }: { readonly link: StreamLinkView }): VNode {
  return (
    <>
      {flows.slice(0, NAMED).map(({ id, bitsPerSecond: rate }) => (
        <span key={id} class="use-flow">
          <Name>{id.replace("->", " → ")}</Name> <small class="soft">{bitsPerSecond(rate)}</small>
        </span>
      ))}
      {flows.length <= NAMED ? null : (
        <small class="soft">and {plural(flows.length - NAMED, "flow")} more</small>
      )}
    </>
  );
}
