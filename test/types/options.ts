// Under `exactOptionalPropertyTypes`, undefined is accepted wherever an option may be left out: a program passes on options of its own.
// types.test.ts checks that no exported type of options is missing here. Nothing of it runs.
import type * as api from 'palimpsest'
import type * as audit from 'palimpsest/audit'
import type * as client from 'palimpsest/client'
import type * as fp from 'palimpsest/fp'
import type * as investigate from 'palimpsest/investigate'
import type * as recorder from 'palimpsest/recorder'
import type { ChatCompletionsOptions, MessagesApiOptions, ResponsesApiOptions } from 'palimpsest/testing'

type OptionalIn<T> = T extends unknown
  ? { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T]
  : never
/** The optional fields that do not accept undefined. */
type Exact<T> = T extends unknown
  ? {
      [K in OptionalIn<T>]: { readonly [F in K]: undefined } extends Pick<T, K & keyof T> ? never : K
    }[OptionalIn<T>]
  : never

interface Options {
  readonly AgentOptions: investigate.AgentOptions
  readonly AnthropicOptions: api.AnthropicOptions
  readonly AuditOptions: api.AuditOptions
  readonly BeginOptions: api.BeginOptions
  readonly RecordingFetchOptions: recorder.RecordingFetchOptions
  readonly RetentionRunOptions: api.RetentionRunOptions
  readonly RotateOptions: api.RotateOptions
  readonly PatrolOptions: api.PatrolOptions
  readonly StatusOptions: api.StatusOptions
  readonly SealOptions: api.SealOptions
  readonly SealerOptions: api.SealerOptions
  readonly WitnessOptions: audit.WitnessOptions
  readonly TimestampOptions: audit.TimestampOptions
  readonly AppendOptions: api.AppendOptions
  readonly PositionOption: api.PositionOption
  readonly BackupOptions: api.BackupOptions
  readonly BisectOptions: investigate.BisectOptions
  readonly BlockInput: api.BlockInput
  readonly Budget: api.Budget
  readonly Approval: api.Approval
  readonly ApprovalInput: client.ApprovalInput
  readonly AskOptions: client.AskOptions
  readonly ClientOptions: client.ClientOptions
  readonly FindOptions: client.FindOptions
  readonly CacheOptions: investigate.CacheOptions
  readonly CallsOptions: api.CallsOptions
  readonly CancelOptions: api.CancelOptions
  readonly ChatCompletionsOptions: ChatCompletionsOptions
  readonly CommandInput: api.CommandInput
  readonly CondenseInput: api.CondenseInput
  readonly ConfigureInput: api.ConfigureInput
  readonly ContextSettings: api.ContextSettings
  readonly CopyConversations: api.CopyConversations
  readonly CostOptions: investigate.CostOptions
  readonly CounterfactualOptions: investigate.CounterfactualOptions
  readonly CountOptions: api.CountOptions
  readonly Denial: api.Denial
  readonly DiffOptions: api.DiffOptions
  readonly DocumentOptions: api.DocumentOptions
  readonly EraseOptions: api.EraseOptions
  readonly EventsOptions: api.EventsOptions
  readonly EvidenceOptions: api.EvidenceOptions
  readonly FatesOptions: api.FatesOptions
  readonly FollowConversations: api.FollowConversations
  readonly FollowOptions: api.FollowOptions
  readonly StreamOptions: client.StreamOptions
  readonly FullOptions: api.FullOptions
  readonly FullWithNotes: api.FullWithNotes
  readonly FullWithoutNotes: api.FullWithoutNotes
  readonly GcOptions: api.GcOptions
  readonly HoldOptions: api.HoldOptions
  readonly ImportOptions: api.ImportOptions
  readonly FollowSessionOptions: api.FollowSessionOptions
  readonly HistoryToolsOptions: api.HistoryToolsOptions
  readonly LinksOptions: api.LinksOptions
  readonly ListOptions: api.ListOptions
  readonly MarkerStoryOptions: investigate.MarkerStoryOptions
  readonly McpOptions: api.McpOptions
  readonly OriginalsOptions: api.OriginalsOptions
  readonly MessageInput: api.MessageInput
  readonly MessagesApiOptions: MessagesApiOptions
  readonly NewLink: api.NewLink
  readonly NewNote: api.NewNote
  readonly NotesOptions: api.NotesOptions
  readonly OpenAiOptions: api.OpenAiOptions
  readonly OutlineOptions: api.OutlineOptions
  readonly OverviewOptions: api.OverviewOptions
  readonly RenderOptions: api.RenderOptions
  readonly RequestOptions: fp.RequestOptions
  readonly ReplayAgentOptions: investigate.ReplayAgentOptions
  readonly ReplayOptions: investigate.ReplayOptions
  readonly ResponsesApiOptions: ResponsesApiOptions
  readonly RestoreInput: api.RestoreInput
  readonly RewindInput: api.RewindInput
  readonly SaidInput: api.SaidInput
  readonly SayOptions: api.SayOptions
  readonly SearchOptions: api.SearchOptions
  readonly ClientSessionOptions: api.ClientSessionOptions
  readonly SessionFile: api.SessionFile
  readonly SessionStream: api.SessionStream
  readonly SomeOf: api.SomeOf<api.ContextSettings> | api.SomeOf<api.SummarizerSettings>
  readonly StepSettings: api.StepSettings
  readonly StepsOptions: api.StepsOptions
  readonly RosterOptions: api.RosterOptions
  readonly StoreOptions: api.StoreOptions
  readonly SummarizerSettings: api.SummarizerSettings
  readonly SummaryInput: api.SummaryInput
  readonly SystemInput: api.SystemInput
  readonly ToolOptions: api.ToolOptions<Parameters<typeof api.tool>[0]['input']>
  readonly ToolSettings: api.ToolSettings
  readonly TruncateInput: api.TruncateInput
  readonly TurnOptions: api.TurnOptions
  readonly PauseOptions: api.PauseOptions
  readonly ResumeOptions: api.ResumeOptions
  readonly TenantBudget: api.TenantBudget
  readonly TenantPolicy: api.TenantPolicy
  readonly WorkPolicy: api.WorkPolicy
  readonly TurnFactsOptions: api.TurnFactsOptions
  readonly UndoInput: api.UndoInput
  readonly VerifyOptions: api.VerifyOptions
  readonly WaitOptions: api.WaitOptions
  readonly RetryOptions: api.RetryOptions
  readonly WhyOptions: investigate.WhyOptions
  readonly WorkerOptions: api.WorkerOptions<api.Conversation>
  readonly WriteOptions: api.WriteOptions
}
type Refusing = {
  readonly [N in keyof Options as [Exact<Options[N]>] extends [never] ? never : N]: Exact<Options[N]>
}
export const refusing: Refusing = {}
// Nothing has to be given, so what refuses nothing is this.
export const none: keyof Refusing extends never ? true : never = true
// The check itself finds what is exact.
export const found: Exact<{ readonly a?: 1; readonly b?: 1 | undefined; readonly c: 1 }> = 'a'
