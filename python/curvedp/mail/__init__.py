"""PrivateMail: private supervised embeddings and image retrieval (Vepakomma, Balla and Raskar).

rows of features, labels -> iteration with Gaussian-kernel Laplacians -> noise after each one
a query among public anchors -> its public cell or some, by their response -> nearest matches
"""

from curvedp.mail.alignment import Alignment, align
from curvedp.mail.anchors import Anchors
from curvedp.mail.embedding import Embedding
from curvedp.mail.iteration import Laplacians
from curvedp.mail.messages import Reply, Request, Session
from curvedp.mail.private_mail import PrivateMail
from curvedp.mail.query import PrivateQuery, QueryRelease
from curvedp.mail.reference import cccp_embedding, objective, spectral_embedding
from curvedp.mail.retrieval import RetrievalScore, in_turn, nearest, retrieval_score
from curvedp.mail.roles import Client, Server
from curvedp.mail.subset import expected_recall

__all__ = [
    "Alignment",
    "Anchors",
    "Client",
    "Embedding",
    "Laplacians",
    "PrivateMail",
    "PrivateQuery",
    "QueryRelease",
    "Reply",
    "Request",
    "RetrievalScore",
    "Server",
    "Session",
    "align",
    "cccp_embedding",
    "expected_recall",
    "in_turn",
    "nearest",
    "objective",
    "retrieval_score",
    "spectral_embedding",
]


def __dir__() -> list[str]:
    return sorted(__all__)
