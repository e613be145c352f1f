"""PrivateMail: private supervised embeddings and image retrieval (Vepakomma, Balla and Raskar).

rows of features, labels -> iteration with Gaussian-kernel Laplacians -> noise after each one
a query among public anchors -> its public cell, by randomised response -> nearest matches
"""

from curvedp.mail.alignment import Alignment, align
from curvedp.mail.anchors import Anchors
from curvedp.mail.embedding import Embedding
from curvedp.mail.iteration import Laplacians
from curvedp.mail.private_mail import PrivateMail
from curvedp.mail.query import PrivateQuery, QueryRelease
from curvedp.mail.reference import cccp_embedding, objective, spectral_embedding
from curvedp.mail.retrieval import RetrievalScore, nearest, retrieval_score
from curvedp.mail.roles import Client, Reply, Request, Server

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
    "align",
    "cccp_embedding",
    "nearest",
    "objective",
    "retrieval_score",
    "spectral_embedding",
]
