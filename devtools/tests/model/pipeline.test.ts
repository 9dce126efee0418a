import { get } from 'svelte/store';
import { describe, expect, it } from 'vitest';

import { completed } from '../../src/lib/model/run-view';
import { NODE_META, PIPELINE_FLOW, nodeMeta, pipeline, pipelineFlow, pipelineNodes, retryShown } from '../../src/lib/stores/pipeline';
import { recorded, run, viewOf, type LogName } from './logs';

describe('the pipeline of a graph', () => {
  const { graph } = recorded('assistant-reflect');

  it('has its nodes in the order of declaration', () => {
    expect(pipelineFlow(graph)).toEqual([
      'fetch_data', 'update_profile', 'generate_acknowledgment', 'plan_queries', 'execute_queries', 'check_results',
      'reflect_and_replan', 'generate_response', 'evaluate',
    ]);
  });

  it('describes the reflection where the graph has one', () => {
    expect(nodeMeta(graph)['reflect_and_replan']).toEqual({ label: 'Reflect & Replan', icon: '🤔', hasLlm: true });
    expect(nodeMeta(recorded('assistant-relax').graph)['reflect_and_replan']).toBeUndefined();
  });

  it('is told by the stores', () => {
    pipeline.show(graph, run('assistant-reflect').view);
    expect(get(PIPELINE_FLOW)).toEqual(pipelineFlow(graph));
    expect(get(NODE_META)['reflect_and_replan']?.label).toBe('Reflect & Replan');
    const node = get(pipeline).nodes['reflect_and_replan'];
    expect(node).toMatchObject({ status: 'complete', visits: 2 });
    expect(node?.duration_ms).toBeGreaterThan(0);
  });

  it('waits without a run', () => {
    const nodes = pipelineNodes(graph, null);
    expect(new Set(Object.values(nodes).map((node) => node.status))).toEqual(new Set(['waiting']));
    expect(nodes['fetch_data']?.duration_ms).toBeNull();
  });
});

describe('the retry that is shown', () => {
  const of = (name: LogName): string | undefined => retryShown(pipelineNodes(recorded(name).graph, run(name).view))?.name;

  it('is the reflection where that ran, else the mechanical one', () => {
    expect(of('assistant-reflect')).toBe('reflect_and_replan');
    expect(of('assistant-relax')).toBe('relax_and_retry');
    expect(of('own-failing')).toBeUndefined();
  });

  it('is none before it begins', () => {
    const { graph, view } = run('assistant-reflect');
    const first = view.visits.find((visit) => visit.node === 'reflect_and_replan')?.startSeq ?? 0;
    const at = (seq: number) => retryShown(pipelineNodes(graph, run('assistant-reflect', seq).view))?.name;
    expect(at(first - 1)).toBeUndefined();
    expect(at(first)).toBe('reflect_and_replan');
  });

  it('is none where the node was skipped', () => {
    const { graph, events } = recorded('own-failing');
    const reflecting = { ...graph, nodes: graph.nodes.map((node) => (node.name === 'three' ? { ...node, name: 'reflect_and_replan' } : node)) };
    expect(retryShown(pipelineNodes(reflecting, completed(viewOf(events), reflecting, null)))).toBeNull();
  });
});
