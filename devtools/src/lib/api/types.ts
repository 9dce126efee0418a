/** What the server sends, by names that are short to write: those of the generated `schema.d.ts`. */
import type { JsonSchema } from '../form/fields';
import type { components } from './schema';

type Schemas = components['schemas'];

/** A reply as it comes: the server leaves no field out, also where one has a default. */
type Sent<T> = T extends object ? { [Key in keyof T]-?: Sent<T[Key]> } : T;
type Reply<Name extends keyof Schemas> = Sent<Schemas[Name]>;

export type Json = Record<string, unknown>;

export type RunChanges = Reply<'RunChanges'>;
export type Citation = Reply<'Citation'>;
export type Outcome = Reply<'Outcome'>;
export type LoopPasses = Reply<'LoopPasses'>;
export type RunSummary = Reply<'RunSummary'>;
export type RunRecord = Reply<'RunRecord'>;
export type RunPage = Reply<'RunPage'>;
export type NodeStarted = Reply<'NodeStarted'>;
export type NodeFinished = Reply<'NodeFinished'>;
export type NodeRetried = Reply<'NodeRetried'>;
export type NodeGaveUp = Reply<'NodeGaveUp'>;
export type ModelFellBack = Reply<'ModelFellBack'>;
export type TextStreamed = Reply<'TextStreamed'>;
export type LoopDecided = Reply<'LoopDecided'>;
export type BudgetSpent = Reply<'BudgetSpent'>;
export type StateSaved = Reply<'StateSaved'>;
export type ModelCalled = Reply<'ModelCalled'>;
export type Told = Reply<'Told'>;
export type RunFinished = Reply<'RunFinished'>;
export type RunEvent = Reply<'RunEvent'>;
export type LoggedEvent = Reply<'LoggedEvent'>;
export type ShownNode = Reply<'ShownNode'>;
export type ShownEdge = Reply<'ShownEdge'>;
export type Certificate = Reply<'Certificate'>;
export type ShownGraph = Reply<'ShownGraph'>;
export type Upload = Reply<'Upload'>;
export type PromptVersion = Reply<'PromptVersion'>;
export type PromptHistory = Reply<'PromptHistory'>;
export type NodeModel = Reply<'NodeModel'>;
export type Comparison = Reply<'Comparison'>;
export type KeptEvaluation = Reply<'KeptEvaluation'>;
export type EvaluatedAnswer = KeptEvaluation['answers'][number];
export type FigureRow = Comparison['figures'][number];
export type LoopSides = Comparison['loops'][number];
export type LoopReport = Reply<'LoopReport'>;
export type LoopRow = LoopReport['loops'][number];
export type PassCount = LoopRow['histogram'][number];
export type EventLog = Reply<'Log'>;
export type PromptSummary = Reply<'PromptEntry'>;
export type Models = Reply<'NodeModels'>;

export type RunStatus = RunSummary['status'];
export type Decision = LoopDecided['decision'];

export type Workflow = Omit<Reply<'Workflow'>, 'input_schema'> & { input_schema: JsonSchema };
